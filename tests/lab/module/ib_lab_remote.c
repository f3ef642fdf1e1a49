// SPDX-License-Identifier: GPL-2.0
/*
 * ib_lab: reliable connections to a queue pair of another machine. One message
 * of each is on its way at a time; the work request waits in a list, completes
 * when the other side has answered, and is sent again if it does not answer or
 * has posted no receive yet. A message has a number, by which the other side
 * knows one that comes a second time: that is answered, but not executed. A
 * read is, its answer are the data.
 */
#include <linux/slab.h>

#include "ib_lab.h"

#define CHECK_TIME msecs_to_jiffies(20)
/* A VM that is emulated on a busy machine stands still for seconds. */
#define ANSWER_TIME msecs_to_jiffies(3000)
#define MAX_TRIES 6
#define RECEIVE_TIME msecs_to_jiffies(20)
#define MAX_RECEIVE_TRIES 500

struct lab_request {
	struct list_head entry;		/* in lab_qp.requests */
	struct ib_rdma_wr wr;
	u32 number;
	int tries, receive_tries;
	unsigned long due;		/* jiffies: to be sent again */
	struct ib_sge sge[];
};

static void check_requests(struct work_struct *work);
static DECLARE_DELAYED_WORK(checker, check_requests);

bool lab_is_remote(const struct lab_qp *qp)
{
	return qp->type == IB_QPT_RC && qp->port && lab_is_elsewhere(qp->peer_lid);
}

static struct lab_request *first_request(struct lab_qp *qp)
{
	return list_first_entry_or_null(&qp->requests, struct lab_request, entry);
}

/* ---- The side that sends ---- */

static void finish(struct lab_qp *qp, struct lab_request *request, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = request->wr.wr.wr_id, .qp = &qp->ib, .status = status,
		.opcode = lab_completion_of(request->wr.wr.opcode),
	};

	if (qp->signal_all || (request->wr.wr.send_flags & IB_SEND_SIGNALED) || status)
		lab_complete(qp->ib.send_cq, &wc);
	list_del(&request->entry);
	qp->waiting--;
	kfree(request);
}

void lab_drop_requests(struct lab_qp *qp, bool report)
{
	struct lab_request *one, *next;

	list_for_each_entry_safe(one, next, &qp->requests, entry) {
		if (report) {
			finish(qp, one, IB_WC_WR_FLUSH_ERR);
			continue;
		}
		list_del(&one->entry);
		kfree(one);
	}
	qp->waiting = 0;
}

static void transmit(struct lab_qp *qp, struct lab_request *request)
{
	struct lab_packet packet = {};
	enum ib_wc_status status = IB_WC_RETRY_EXC_ERR;

	if (lab_is_on_fabric(qp->port))
		status = lab_status_of(lab_make_packet(qp, &request->wr.wr, &packet));
	if (status) {
		finish(qp, request, status);
		lab_fail(qp);
		return;
	}
	packet.number = request->number;
	lab_trunk_send(&packet);
	request->due = jiffies + ANSWER_TIME;
	queue_delayed_work(system_unbound_wq, &checker, CHECK_TIME);
}

static bool is_memory_access(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_RDMA_WRITE || opcode == IB_WR_RDMA_WRITE_WITH_IMM || opcode == IB_WR_RDMA_READ;
}

int lab_request(struct lab_qp *qp, const struct ib_send_wr *wr)
{
	struct lab_request *one;

	if (wr->num_sge > MAX_SGE)
		return -EINVAL;
	if (qp->waiting >= qp->init.cap.max_send_wr)
		return -ENOMEM;
	one = kzalloc(struct_size(one, sge, wr->num_sge), GFP_ATOMIC);
	if (!one)
		return -ENOMEM;
	if (is_memory_access(wr->opcode))
		one->wr = *rdma_wr(wr);
	else
		one->wr.wr = *wr;
	memcpy(one->sge, wr->sg_list, wr->num_sge * sizeof(*one->sge));
	one->wr.wr.sg_list = one->sge;
	one->wr.wr.next = NULL;
	one->number = qp->next_send;
	qp->next_send = (qp->next_send + 1) & LAB_NUMBERS;
	qp->waiting++;
	list_add_tail(&one->entry, &qp->requests);
	if (first_request(qp) == one)
		transmit(qp, one);
	return 0;
}

/* What is read has come with it. */
static enum ib_wc_status take_data(struct lab_qp *qp, const struct lab_request *request, const struct lab_packet *packet)
{
	const struct ib_send_wr *wr = &request->wr.wr;

	if (wr->opcode != IB_WR_RDMA_READ)
		return IB_WC_SUCCESS;
	return lab_scatter(qp, wr->sg_list, wr->num_sge, 0, packet->data, packet->length) ? IB_WC_LOC_PROT_ERR
											 : IB_WC_SUCCESS;
}

void lab_answered(const struct lab_packet *packet)
{
	struct lab_qp *qp = lab_find_qp(packet->lid, packet->qpn);
	struct lab_request *request = qp ? first_request(qp) : NULL;
	enum ib_wc_status status = packet->status;

	if (!request || request->number != packet->number)
		return;
	if (status == IB_WC_RNR_RETRY_EXC_ERR && request->receive_tries++ < MAX_RECEIVE_TRIES) {
		request->due = jiffies + RECEIVE_TIME;
		request->tries = 0;
		return;
	}
	if (!status)
		status = take_data(qp, request, packet);
	finish(qp, request, status);
	request = first_request(qp);
	if (status)
		lab_fail(qp);
	else if (request)
		transmit(qp, request);
}

static void check_request(struct lab_qp *qp, struct lab_request *request)
{
	if (time_before(jiffies, request->due))
		return;
	if (request->tries++ < MAX_TRIES) {
		transmit(qp, request);
		return;
	}
	finish(qp, request, IB_WC_RETRY_EXC_ERR);
	lab_fail(qp);
}

static void check_requests(struct work_struct *work)
{
	struct lab_hca *hca;
	struct lab_qp *qp;
	unsigned long flags;
	bool again = false;

	spin_lock_irqsave(&lab_lock, flags);
	list_for_each_entry(hca, &lab_hcas, entry) {
		list_for_each_entry(qp, &hca->qps, entry) {
			struct lab_request *request = first_request(qp);

			if (request)
				check_request(qp, request);
			again |= !list_empty(&qp->requests);
		}
	}
	if (again)
		queue_delayed_work(system_unbound_wq, &checker, CHECK_TIME);
	spin_unlock_irqrestore(&lab_lock, flags);
}

/* ---- The side that receives ---- */

static void answer(struct lab_qp *qp, const struct lab_packet *request, enum ib_wc_status status)
{
	const bool read = request->opcode == IB_WR_RDMA_READ && !status;
	const struct lab_packet packet = {
		.kind = LAB_ANSWER, .status = status, .number = request->number,
		.lid = request->source_lid, .qpn = request->source_qpn,
		.source_lid = request->lid, .source_qpn = request->qpn,
		.data = request->data, .length = read ? request->length : 0,
	};

	lab_trunk_send(&packet);
}

void lab_requested(struct lab_packet *packet)
{
	struct lab_qp *qp = lab_find_qp(packet->lid, packet->qpn);
	const bool read = packet->opcode == IB_WR_RDMA_READ;
	bool again;
	int err;

	if (!qp)
		return;
	again = packet->number == ((qp->next_receive - 1) & LAB_NUMBERS);
	if (packet->type == IB_QPT_RC && packet->number != qp->next_receive && !again)
		return;
	if (packet->type == IB_QPT_RC && again && !read) {
		answer(qp, packet, qp->answered);
		return;
	}
	err = lab_execute(qp, packet);
	/* To a queue pair that cannot receive it, it is as if nobody were there. */
	if (packet->type != IB_QPT_RC || err == -EHOSTUNREACH)
		return;
	if (!again && err != -ENOBUFS) {
		qp->next_receive = (qp->next_receive + 1) & LAB_NUMBERS;
		qp->answered = lab_status_of(err);
	}
	answer(qp, packet, lab_status_of(err));
}

void lab_remote_end(void)
{
	cancel_delayed_work_sync(&checker);
}
