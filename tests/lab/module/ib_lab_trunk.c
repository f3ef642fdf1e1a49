// SPDX-License-Identifier: GPL-2.0
/*
 * ib_lab: the trunk, by which the fabric goes on to a second machine: frames
 * of an Ethernet interface of the first network namespace. Each machine has
 * LIDs and GUIDs of its own, by its number, and its own subnet administration
 * at SM_LID, which asks the other's for the path to a GUID that it does not
 * know. A packet is sent if its LID is of the other machine, and to a group
 * always; what came from there is never sent back.
 *
 * A packet is cut into frames that follow each other, and is lost if one of
 * them is. Both machines run this module: a frame has the packet as it is in
 * memory here.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/moduleparam.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <net/sch_generic.h>

#include "ib_lab.h"

#define LAB_ETHERTYPE 0x88b5	/* local experimental */
#define PIECE 1344
/* Frames that wait for the interface; what comes on top is lost. Eight of the longest messages. */
#define MAX_WAITING (8 * DIV_ROUND_UP(LAB_MAX_MESSAGE, PIECE))
#define MAX_SEND_TRIES 2000

static char *trunk;
module_param(trunk, charp, 0444);
MODULE_PARM_DESC(trunk, "network interface to another machine of the fabric");

unsigned int lab_machine;
module_param_named(machine, lab_machine, uint, 0444);
MODULE_PARM_DESC(machine, "number of this machine, 1 or 2, with a trunk");

struct frame {
	u32 message;
	u32 offset;
	struct lab_packet packet;
};

static_assert(sizeof(struct frame) + PIECE <= ETH_DATA_LEN);

bool lab_is_elsewhere(u16 lid)
{
	if (!lab_machine || lid == SM_LID)
		return false;
	return lid / LAB_LIDS != lab_machine;
}

/* ---- Sending ---- */

static void transmit(struct work_struct *work);
static DECLARE_WORK(transmitter, transmit);
static struct sk_buff_head waiting;

static struct sk_buff *make_frame(const struct frame *frame)
{
	const u32 length = min_t(u32, frame->packet.length - frame->offset, PIECE);
	struct sk_buff *skb = alloc_skb(LL_MAX_HEADER + sizeof(*frame) + length, GFP_ATOMIC);
	struct frame *head;

	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	head = skb_put_data(skb, frame, sizeof(*frame));
	head->packet.data = NULL;
	if (length)
		skb_put_data(skb, frame->packet.data + frame->offset, length);
	skb->protocol = htons(LAB_ETHERTYPE);
	return skb;
}

/* From interrupts too, or with them off, when an interface cannot be used. */
void lab_trunk_send(const struct lab_packet *packet)
{
	static u32 message;
	struct frame frame = { .message = message++, .packet = *packet };
	struct sk_buff *skb;

	if (skb_queue_len(&waiting) > MAX_WAITING)
		return;
	do {
		skb = make_frame(&frame);
		if (!skb)
			break;
		skb_queue_tail(&waiting, skb);
		frame.offset += PIECE;
	} while (frame.offset < packet->length);
	queue_work(system_unbound_wq, &transmitter);
}

/* An interface whose queue is full drops the frame: that is tried again. */
static void send_frame(struct net_device *dev, struct sk_buff *skb)
{
	struct sk_buff *copy;
	int try, err;

	skb->dev = dev;
	skb_reset_network_header(skb);
	if (dev_hard_header(skb, dev, LAB_ETHERTYPE, dev->broadcast, dev->dev_addr, skb->len) < 0)
		return;
	for (try = 0; try < MAX_SEND_TRIES && netif_running(dev); try++) {
		copy = skb_clone(skb, GFP_KERNEL);
		err = copy ? dev_queue_xmit(copy) : NET_XMIT_DROP;
		if (!net_xmit_eval(err))
			return;
		usleep_range(500, 1000);
	}
}

static void transmit(struct work_struct *work)
{
	struct net_device *dev = dev_get_by_name(&init_net, trunk);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&waiting))) {
		if (dev)
			send_frame(dev, skb);
		kfree_skb(skb);
	}
	dev_put(dev);
}

/* ---- Receiving ---- */

/* What has come of a packet, under lab_lock. */
static u8 arrived[LAB_MAX_MESSAGE];
static u32 arrived_message, arrived_length;

/* Whether the packet is whole. */
static bool take_piece(const struct sk_buff *skb, const struct frame *frame)
{
	const u32 total = frame->packet.length;
	u32 length;

	if (total > LAB_MAX_MESSAGE || frame->offset > total || frame->packet.wanted > LAB_MAX_MESSAGE)
		return false;
	if (frame->offset == 0) {
		arrived_message = frame->message;
		arrived_length = 0;
	}
	if (frame->message != arrived_message || frame->offset != arrived_length)
		return false;
	length = min_t(u32, total - frame->offset, PIECE);
	if (skb_copy_bits(skb, sizeof(*frame), arrived + frame->offset, length))
		return false;
	arrived_length += length;
	return arrived_length == total;
}

static int receive(struct sk_buff *skb, struct net_device *dev, struct packet_type *type, struct net_device *original)
{
	struct frame frame;
	unsigned long flags;

	if (skb->pkt_type != PACKET_OUTGOING && net_eq(dev_net(dev), &init_net) && !strcmp(dev->name, trunk) &&
	    !skb_copy_bits(skb, 0, &frame, sizeof(frame))) {
		spin_lock_irqsave(&lab_lock, flags);
		if (take_piece(skb, &frame)) {
			frame.packet.data = arrived;
			lab_arrive(&frame.packet);
		}
		spin_unlock_irqrestore(&lab_lock, flags);
	}
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type frames = { .type = cpu_to_be16(LAB_ETHERTYPE), .func = receive };

int lab_trunk_begin(void)
{
	skb_queue_head_init(&waiting);
	if (!trunk != !lab_machine || lab_machine > 2)
		return -EINVAL;
	if (trunk)
		dev_add_pack(&frames);
	return 0;
}

/* No adapter is there any more. */
void lab_trunk_end(void)
{
	if (trunk)
		dev_remove_pack(&frames);
	cancel_work_sync(&transmitter);
	skb_queue_purge(&waiting);
}
