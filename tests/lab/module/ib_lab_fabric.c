// SPDX-License-Identifier: GPL-2.0
/*
 * ib_lab: the fabric. One subnet that every adapter of the machine is plugged
 * into, whatever network namespace it is in: a packet is copied from the work
 * request of the sender into that of the receiver. At SM_LID a subnet
 * administration answers what IPoIB and the connection manager ask: paths and
 * multicast groups. Ports have counters, as a performance agent reports them.
 * What is for a port of another machine goes to its fabric (ib_lab_trunk.c).
 */
#include <linux/slab.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_sa.h>

#include "ib_lab.h"

#define MAX_PACKET LAB_MAX_MESSAGE
#define GRH_BYTES 40

static u8 buffer[MAX_PACKET];	/* under lab_lock */

static bool same_partition(const struct lab_qp *qp, u16 pkey)
{
	const u16 own = lab_pkeys[qp->pkey_index];

	/*
	 * Management has no partition: an answer to a port without a key has to arrive.
	 * Of two limited members (bit 15 is not set) neither can reach the other.
	 */
	return qp->type == IB_QPT_GSI || (!((own ^ pkey) & 0x7fff) && ((own | pkey) & 0x8000));
}

static bool can_receive(const struct lab_qp *qp)
{
	return qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD ||
	       qp->state == IB_QPS_SQE;
}

/* One part of a work request: a region of a program's, or memory of the kernel's. */
static int copy_part(const struct lab_qp *qp, const struct ib_sge *sge, u32 at, void *data, u32 length, bool into)
{
	void *memory = (void *)(uintptr_t)(sge->addr + at);

	if (qp->of_program)
		return lab_copy(qp, sge->lkey, sge->addr + at, data, length, into ? IB_ACCESS_LOCAL_WRITE : 0, into);
	memcpy(into ? memory : data, into ? data : memory, length);
	return 0;
}

/* Between the parts and `length` bytes of `data`, of which the first belong at `done` of the parts. */
int lab_scatter(const struct lab_qp *qp, const struct ib_sge *sge, int count, u32 skip, void *data, u32 length)
{
	u32 done = 0, part;
	int i, err;

	for (i = 0; i < count && done < length; i++) {
		if (skip >= sge[i].length) {
			skip -= sge[i].length;
			continue;
		}
		part = min(sge[i].length - skip, length - done);
		err = copy_part(qp, &sge[i], skip, data + done, part, true);
		if (err)
			return err;
		done += part;
		skip = 0;
	}
	return done == length ? 0 : -EMSGSIZE;
}

static void complete_receive(struct lab_qp *qp, struct lab_receive *one, const struct lab_packet *packet, struct ib_wc *wc)
{
	wc->wr_id = one->wr_id;
	wc->qp = &qp->ib;
	wc->src_qp = packet->source_qpn;
	wc->slid = packet->source_lid;
	wc->sl = packet->sl;
	wc->port_num = qp->port->number;
	if (packet->has_immediate) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = packet->immediate;
	}
	kfree(one);
	lab_complete(qp->ib.recv_cq, wc);
}

static struct lab_receive *take_receive(struct lab_qp *qp)
{
	struct lab_receive *one = list_first_entry_or_null(&qp->receives, struct lab_receive, entry);

	if (one)
		list_del(&one->entry);
	return one;
}

/* A datagram comes behind room for a GRH, whether it has one or not. */
static int deliver(struct lab_qp *qp, const struct lab_packet *packet)
{
	const bool datagram = qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI;
	const u32 head = datagram ? GRH_BYTES : 0;
	u8 grh[GRH_BYTES] = {};
	struct lab_receive *one;
	struct ib_wc wc = {};
	int err;

	if (!can_receive(qp) || !same_partition(qp, packet->pkey))
		return -EHOSTUNREACH;
	one = take_receive(qp);
	if (!one)
		return -ENOBUFS;
	if (packet->has_grh) {
		grh[0] = 0x60;
		grh[4] = packet->length >> 8;
		grh[5] = packet->length;
		grh[6] = 0x1b;
		grh[7] = 64;
		memcpy(grh + 8, &packet->source, 16);
		memcpy(grh + 24, &packet->target, 16);
	}
	err = lab_scatter(qp, one->sge, one->count, 0, grh, head);
	if (!err)
		err = lab_scatter(qp, one->sge, one->count, head, packet->data, packet->length);
	wc.status = !err ? IB_WC_SUCCESS : err == -EMSGSIZE ? IB_WC_LOC_LEN_ERR : IB_WC_LOC_PROT_ERR;
	wc.opcode = IB_WC_RECV;
	wc.byte_len = head + packet->length;
	wc.wc_flags = packet->has_grh && datagram ? IB_WC_GRH : 0;
	complete_receive(qp, one, packet, &wc);
	qp->port->counters.rcv_packets++;
	qp->port->counters.rcv_bytes += packet->length;
	return err ? -EREMOTEIO : 0;
}

/* ---- Who is where ---- */

bool lab_is_on_fabric(const struct lab_port *port)
{
	return port->number && port->state == IB_PORT_ACTIVE;
}

static struct lab_port *find_port(u16 lid, u64 guid)
{
	struct lab_hca *hca;
	int i;

	list_for_each_entry(hca, &lab_hcas, entry) {
		for (i = 0; i < MAX_PORTS; i++) {
			struct lab_port *port = &hca->ports[i];

			if (lab_is_on_fabric(port) && (lid ? port->lid == lid : guid && port->guid == guid))
				return port;
		}
	}
	return NULL;
}

static struct lab_qp *find_qp(const struct lab_port *port, u32 number)
{
	struct lab_qp *qp;

	list_for_each_entry(qp, &port->hca->qps, entry) {
		if (qp->ib.qp_num == number && qp->port == port)
			return qp;
	}
	return NULL;
}

struct lab_qp *lab_find_qp(u16 lid, u32 number)
{
	const struct lab_port *port = find_port(lid, 0);

	return port ? find_qp(port, number) : NULL;
}

static bool is_member(const struct lab_qp *qp, const union ib_gid *group)
{
	int i;

	for (i = 0; i < qp->groups; i++) {
		if (memcmp(&qp->group[i], group, sizeof(*group)) == 0)
			return true;
	}
	return false;
}

/* Of this machine. */
static void deliver_to_group(const struct lab_packet *packet)
{
	struct lab_hca *hca;
	struct lab_qp *qp;

	list_for_each_entry(hca, &lab_hcas, entry) {
		list_for_each_entry(qp, &hca->qps, entry) {
			if (qp->port && lab_is_on_fabric(qp->port) && is_member(qp, &packet->target))
				deliver(qp, packet);
		}
	}
}

/* ---- The subnet administration ---- */

struct sa_head {
	struct ib_mad_hdr mad;
	u8 rmpp[12];
	__be64 sm_key;
	__be16 attr_offset;
	__be16 reserved;
	__be64 comp_mask;
} __packed;

struct sa_path {
	__be64 service;
	union ib_gid dgid, sgid;
	__be16 dlid, slid;
	u8 hops[4], tclass, numb_path;
	__be16 pkey, sl;
	u8 mtu, rate, life_time, preference;
} __packed;

struct sa_member {
	union ib_gid mgid, port_gid;
	__be32 qkey;
	__be16 mlid;
	u8 mtu, tclass;
	__be16 pkey;
	u8 rate, life_time;
	__be32 sl_flow_hop;
	u8 scope_state;
} __packed;

#define SA_EXACTLY (2 << 6)	/* before a value of MTU, rate or life time */
#define SA_NO_RECORDS cpu_to_be16(0x0300)
#define SA_NO_ATTRIBUTE cpu_to_be16(0x000c)
#define IPOIB_QKEY 0x0b1b
#define LINK_LOCAL_SCOPE 0x20
#define JOIN_STATE 0x0f

/* One number for each group, for as long as the module is there. */
static u16 group_lid(const union ib_gid *mgid)
{
	static union ib_gid known[1024];
	static u16 count;
	int i;

	for (i = 0; i < count; i++) {
		if (memcmp(&known[i], mgid, sizeof(*mgid)) == 0)
			return 0xc000 + i;
	}
	if (count == ARRAY_SIZE(known))
		return 0xc000 + count - 1;
	known[count] = *mgid;
	return 0xc000 + count++;
}

static const struct lab_port *asked_for(const struct sa_path *path)
{
	return find_port(0, be64_to_cpu(path->dgid.global.interface_id));
}

static __be16 answer_path(struct sa_path *path, u16 from)
{
	const struct lab_port *to = asked_for(path);

	if (!to)
		return SA_NO_RECORDS;
	path->dlid = cpu_to_be16(to->lid);
	path->slid = cpu_to_be16(from);
	path->numb_path = 0x81;		/* reversible */
	if (!path->pkey)
		path->pkey = cpu_to_be16(lab_pkeys[0]);
	path->mtu = SA_EXACTLY | IB_MTU_2048;
	path->rate = SA_EXACTLY | IB_RATE_10_GBPS;
	path->life_time = SA_EXACTLY | 18;
	return 0;
}

static __be16 answer_member(struct sa_member *member)
{
	member->mlid = cpu_to_be16(group_lid(&member->mgid));
	member->qkey = cpu_to_be32(IPOIB_QKEY);
	if (!member->pkey)
		member->pkey = cpu_to_be16(lab_pkeys[0]);
	member->mtu = SA_EXACTLY | IB_MTU_2048;
	member->rate = SA_EXACTLY | IB_RATE_10_GBPS;
	member->life_time = SA_EXACTLY | 18;
	/* As it was asked for, sending alone too: ib_sa joins again for each kind of membership that it misses here. */
	member->scope_state = LINK_LOCAL_SCOPE | (member->scope_state & JOIN_STATE);
	return 0;
}

static bool is_question(const struct lab_packet *packet)
{
	const struct sa_head *head = (void *)packet->data;

	return packet->length == IB_MGMT_MAD_SIZE && head->mad.mgmt_class == IB_MGMT_CLASS_SUBN_ADM &&
	       !(head->mad.method & IB_MGMT_METHOD_RESP);
}

static bool asks_for_path(const struct sa_head *head)
{
	return head->mad.attr_id == cpu_to_be16(IB_SA_ATTR_PATH_REC) && head->mad.method == IB_MGMT_METHOD_GET;
}

/* The question becomes the answer. */
static void make_answer(struct lab_packet *packet)
{
	struct sa_head *head = (void *)packet->data;
	void *record = head + 1;
	const u8 method = head->mad.method;

	if (asks_for_path(head))
		head->mad.status = answer_path(record, packet->source_lid);
	else if (head->mad.attr_id == cpu_to_be16(IB_SA_ATTR_MC_MEMBER_REC) && method != IB_SA_METHOD_DELETE)
		head->mad.status = answer_member(record);
	else
		head->mad.status = method == IB_SA_METHOD_DELETE ? 0 : SA_NO_ATTRIBUTE;
	head->mad.method = method == IB_SA_METHOD_DELETE ? IB_SA_METHOD_DELETE_RESP
							   : IB_MGMT_METHOD_GET_RESP;
	packet->kind = LAB_DATAGRAM;
	packet->lid = packet->source_lid;
	packet->qpn = packet->source_qpn;
	packet->source_lid = SM_LID;
	packet->source_qpn = 1;
	packet->has_grh = false;
}

static void answer_sa(struct lab_qp *qp, struct lab_packet *packet)
{
	struct sa_head *head = (void *)packet->data;

	if (!is_question(packet))
		return;
	/* The subnet manager of the other machine may know it. If not, nobody answers. */
	if (lab_machine && asks_for_path(head) && !asked_for((void *)(head + 1))) {
		packet->kind = LAB_QUESTION;
		lab_trunk_send(packet);
		return;
	}
	make_answer(packet);
	deliver(qp, packet);
}

static void answer_elsewhere(struct lab_packet *packet)
{
	struct sa_head *head = (void *)packet->data;

	if (!lab_sm || !is_question(packet) || !asks_for_path(head) || !asked_for((void *)(head + 1)))
		return;
	make_answer(packet);
	lab_trunk_send(packet);
}

/* ---- Sending ---- */

static int gather(const struct lab_qp *qp, const struct ib_send_wr *wr, struct lab_packet *packet)
{
	int i, err;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > MAX_PACKET - packet->length)
			return -EMSGSIZE;
		err = copy_part(qp, &wr->sg_list[i], 0, buffer + packet->length, wr->sg_list[i].length, false);
		if (err)
			return -EFAULT;
		packet->length += wr->sg_list[i].length;
	}
	packet->data = buffer;
	return 0;
}

/* Writes and reads of the other side's memory. Only a write with an immediate completes there. */
static int access_memory(struct lab_qp *qp, struct lab_packet *packet)
{
	const bool read = packet->opcode == IB_WR_RDMA_READ;
	const int access = read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE;
	struct ib_wc wc = { .opcode = IB_WC_RECV_RDMA_WITH_IMM, .byte_len = packet->length };
	struct lab_receive *one;
	int err = 0;

	if (!can_receive(qp) || !same_partition(qp, packet->pkey))
		return -EHOSTUNREACH;
	if (packet->has_immediate && list_empty(&qp->receives))
		return -ENOBUFS;
	if (read) {
		packet->data = buffer;
		packet->length = packet->wanted;
	}
	if (packet->length)
		err = lab_copy(qp, packet->key, packet->remote, packet->data, packet->length, access, !read);
	if (err)
		return err;
	qp->port->counters.rcv_packets++;
	qp->port->counters.rcv_bytes += packet->length;
	if (packet->has_immediate) {
		one = take_receive(qp);
		complete_receive(qp, one, packet, &wc);
	}
	return 0;
}

int lab_execute(struct lab_qp *qp, struct lab_packet *packet)
{
	/* The kernel's own connections are those of the connection manager. */
	if (qp->type != packet->type ||
	    (qp->of_program && (qp->peer_qpn != packet->source_qpn || qp->peer_lid != packet->source_lid)))
		return -EHOSTUNREACH;
	switch (packet->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		return access_memory(qp, packet);
	default:
		return deliver(qp, packet);
	}
}

/* RC and UC: to the queue pair that it is connected to. */
static int send_connected(struct lab_qp *qp, const struct ib_send_wr *wr, struct lab_packet *packet)
{
	struct lab_qp *peer = lab_find_qp(packet->lid, packet->qpn);
	int err;

	if (!peer)
		return -EHOSTUNREACH;
	err = lab_execute(peer, packet);
	if (!err && wr->opcode == IB_WR_RDMA_READ &&
	    lab_scatter(qp, wr->sg_list, wr->num_sge, 0, packet->data, packet->length))
		return -EFAULT;
	return err;
}

enum ib_wc_status lab_status_of(int err)
{
	switch (err) {
	case 0:
		return IB_WC_SUCCESS;
	case -EMSGSIZE:
		return IB_WC_LOC_LEN_ERR;
	case -EFAULT:
		return IB_WC_LOC_PROT_ERR;
	case -EACCES:
		return IB_WC_REM_ACCESS_ERR;
	case -EREMOTEIO:
		return IB_WC_REM_OP_ERR;
	case -ENOBUFS:
		return IB_WC_RNR_RETRY_EXC_ERR;
	default:
		return IB_WC_RETRY_EXC_ERR;
	}
}

static void send_datagram(struct lab_qp *qp, const struct ib_ud_wr *wr, struct lab_packet *packet)
{
	struct rdma_ah_attr attr;
	struct lab_qp *to;

	if (!wr->ah || wr->ah->device->ops.query_ah(wr->ah, &attr))
		return;
	packet->lid = rdma_ah_get_dlid(&attr);
	packet->qpn = wr->remote_qpn & 0xffffff;
	packet->sl = rdma_ah_get_sl(&attr);
	packet->has_grh = rdma_ah_get_ah_flags(&attr) & IB_AH_GRH;
	if (packet->has_grh)
		packet->target = rdma_ah_read_grh(&attr)->dgid;
	packet->source.global.subnet_prefix = cpu_to_be64(SUBNET_PREFIX);
	packet->source.global.interface_id = cpu_to_be64(qp->port->guid);
	if (packet->lid == SM_LID && packet->qpn == 1) {
		if (lab_sm)
			answer_sa(qp, packet);
		return;
	}
	packet->kind = packet->lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) ? LAB_TO_GROUP : LAB_DATAGRAM;
	if (packet->kind == LAB_TO_GROUP)
		deliver_to_group(packet);
	if (lab_is_elsewhere(packet->lid)) {
		lab_trunk_send(packet);
		return;
	}
	to = lab_find_qp(packet->lid, packet->qpn);
	if (to)
		deliver(to, packet);
}

/* RC and UC; a datagram is made of its address as well. */
int lab_make_packet(struct lab_qp *qp, const struct ib_send_wr *wr, struct lab_packet *packet)
{
	int err = gather(qp, wr, packet);

	if (err)
		return err;
	packet->kind = LAB_REQUEST;
	packet->type = qp->type;
	packet->opcode = wr->opcode;
	packet->lid = qp->peer_lid;
	packet->qpn = qp->peer_qpn;
	packet->source_lid = qp->port->lid;
	packet->source_qpn = qp->ib.qp_num;
	packet->pkey = lab_pkeys[qp->pkey_index];
	packet->has_immediate = wr->opcode == IB_WR_SEND_WITH_IMM || wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
	packet->immediate = wr->ex.imm_data;
	if (wr->opcode == IB_WR_RDMA_WRITE || wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IB_WR_RDMA_READ) {
		packet->remote = rdma_wr(wr)->remote_addr;
		packet->key = rdma_wr(wr)->rkey;
	}
	/* Nothing goes out but the question. */
	if (wr->opcode == IB_WR_RDMA_READ)
		swap(packet->wanted, packet->length);
	qp->port->counters.xmit_packets++;
	qp->port->counters.xmit_bytes += packet->length;
	return 0;
}

enum ib_wc_status lab_send(struct lab_qp *qp, const struct ib_send_wr *wr)
{
	struct lab_packet packet = {};
	int err;

	/* SMPs stay where they are: no subnet manager can run outside of this file. */
	if (qp->type == IB_QPT_SMI || !qp->port || !lab_is_on_fabric(qp->port))
		return qp->type == IB_QPT_RC ? IB_WC_RETRY_EXC_ERR : IB_WC_SUCCESS;
	err = lab_make_packet(qp, wr, &packet);
	if (err)
		return lab_status_of(err);
	if (qp->type == IB_QPT_UC && lab_is_elsewhere(packet.lid)) {
		lab_trunk_send(&packet);
		return IB_WC_SUCCESS;
	}
	if (qp->type == IB_QPT_RC || qp->type == IB_QPT_UC) {
		err = send_connected(qp, wr, &packet);
		return qp->type == IB_QPT_RC ? lab_status_of(err) : IB_WC_SUCCESS;
	}
	send_datagram(qp, ud_wr(wr), &packet);
	return IB_WC_SUCCESS;
}

void lab_arrive(struct lab_packet *packet)
{
	struct lab_qp *qp;

	switch (packet->kind) {
	case LAB_DATAGRAM:
		qp = lab_find_qp(packet->lid, packet->qpn);
		if (qp)
			deliver(qp, packet);
		break;
	case LAB_TO_GROUP:
		deliver_to_group(packet);
		break;
	case LAB_QUESTION:
		answer_elsewhere(packet);
		break;
	case LAB_REQUEST:
		lab_requested(packet);
		break;
	case LAB_ANSWER:
		lab_answered(packet);
		break;
	}
}

/* ---- The performance agent ---- */

/* What /sys/class/infiniband/DEVICE/ports/N/counters reads. Data is in words of 4 bytes. */
int lab_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	const struct lab_counters *now = &to_hca(ibdev)->ports[port_num - 1].counters;
	struct ib_pma_mad *answer = (void *)out;
	struct ib_pma_portcounters_ext *wide = (void *)answer->data;
	struct ib_pma_portcounters *narrow = (void *)answer->data;
	struct ib_class_port_info *abilities = (void *)answer->data;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT || in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	/* sysfs asks at 40 bytes into the data of the MAD, as mad.c lays it out. */
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
		abilities->base_version = 1;
		abilities->class_version = 1;
		abilities->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
	} else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT) {
		wide->port_xmit_data = cpu_to_be64(now->xmit_bytes / 4);
		wide->port_rcv_data = cpu_to_be64(now->rcv_bytes / 4);
		wide->port_xmit_packets = cpu_to_be64(now->xmit_packets);
		wide->port_rcv_packets = cpu_to_be64(now->rcv_packets);
		wide->port_unicast_xmit_packets = wide->port_xmit_packets;
		wide->port_unicast_rcv_packets = wide->port_rcv_packets;
	} else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS) {
		narrow->symbol_error_counter = cpu_to_be16(now->symbol_errors);
		narrow->link_error_recovery_counter = now->link_recoveries;
		narrow->link_downed_counter = now->link_downed;
		narrow->port_rcv_errors = cpu_to_be16(now->rcv_errors);
		narrow->port_xmit_discards = cpu_to_be16(now->xmit_discards);
		narrow->link_overrun_errors = now->integrity_errors << 4;
		narrow->port_xmit_data = cpu_to_be32(now->xmit_bytes / 4);
		narrow->port_rcv_data = cpu_to_be32(now->rcv_bytes / 4);
		narrow->port_xmit_packets = cpu_to_be32(now->xmit_packets);
		narrow->port_rcv_packets = cpu_to_be32(now->rcv_packets);
	} else {
		return IB_MAD_RESULT_FAILURE;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
