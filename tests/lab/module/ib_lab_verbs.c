// SPDX-License-Identifier: GPL-2.0
/*
 * ib_lab: queue pairs, completion queues and what else the RDMA core asks of a
 * driver. Addresses in work requests are pointers: a device that registers
 * without a DMA device gets virtual DMA from the core, so nothing is mapped.
 */
#include <linux/slab.h>

#include "ib_lab.h"

struct lab_cq {
	struct ib_cq ib;
	struct list_head done;
	bool armed;
	struct work_struct work;
};

struct lab_completion {
	struct list_head entry;
	struct ib_wc wc;
};

struct lab_pd { struct ib_pd ib; };
struct lab_context { struct ib_ucontext ib; };
struct lab_ah {
	struct ib_ah ib;
	struct rdma_ah_attr attr;
};

static struct lab_cq *to_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct lab_cq, ib);
}

/* ---- Completion queues ---- */

static void call_consumer(struct work_struct *work)
{
	struct lab_cq *cq = container_of(work, struct lab_cq, work);

	/* As from an interrupt: what it schedules (NAPI) runs at once then. */
	local_bh_disable();
	if (cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	local_bh_enable();
}

/* The consumer is called later, because it may send again and lab_lock is held. */
void lab_complete(struct ib_cq *ibcq, const struct ib_wc *wc)
{
	struct lab_cq *cq = to_cq(ibcq);
	struct lab_completion *one = kmalloc(sizeof(*one), GFP_ATOMIC);

	if (!one)
		return;
	one->wc = *wc;
	list_add_tail(&one->entry, &cq->done);
	if (cq->armed) {
		cq->armed = false;
		queue_work(system_unbound_wq, &cq->work);
	}
}

static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs)
{
	struct lab_cq *cq = to_cq(ibcq);

	INIT_LIST_HEAD(&cq->done);
	INIT_WORK(&cq->work, call_consumer);
	ibcq->cqe = attr->cqe;
	return 0;
}

static void drop_completions(struct lab_cq *cq, const struct ib_qp *of)
{
	struct lab_completion *one, *next;

	list_for_each_entry_safe(one, next, &cq->done, entry) {
		if (of && one->wc.qp != of)
			continue;
		list_del(&one->entry);
		kfree(one);
	}
}

static int destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	cancel_work_sync(&to_cq(ibcq)->work);
	drop_completions(to_cq(ibcq), NULL);
	return 0;
}

static int poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc)
{
	struct lab_cq *cq = to_cq(ibcq);
	struct lab_completion *one;
	unsigned long flags;
	int i = 0;

	spin_lock_irqsave(&lab_lock, flags);
	while (i < count && !list_empty(&cq->done)) {
		one = list_first_entry(&cq->done, struct lab_completion, entry);
		wc[i++] = one->wc;
		list_del(&one->entry);
		kfree(one);
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	return i;
}

static int req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how)
{
	struct lab_cq *cq = to_cq(ibcq);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&lab_lock, flags);
	cq->armed = true;
	missed = (how & IB_CQ_REPORT_MISSED_EVENTS) && !list_empty(&cq->done);
	spin_unlock_irqrestore(&lab_lock, flags);
	return missed;
}

/* ---- Queue pairs ---- */

static void drop_receives(struct lab_qp *qp, bool report)
{
	struct lab_receive *one, *next;

	list_for_each_entry_safe(one, next, &qp->receives, entry) {
		struct ib_wc wc = { .wr_id = one->wr_id, .status = IB_WC_WR_FLUSH_ERR, .qp = &qp->ib };

		list_del(&one->entry);
		if (report)
			lab_complete(qp->ib.recv_cq, &wc);
		kfree(one);
	}
}

static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	static u32 next_number = 0x40;
	struct lab_hca *hca = to_hca(ibqp->device);
	struct lab_qp *qp = to_qp(ibqp);
	unsigned long flags;

	switch (attr->qp_type) {
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		qp->port = &hca->ports[attr->port_num - 1];
		break;
	case IB_QPT_UD:
	case IB_QPT_UC:
	case IB_QPT_RC:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (attr->srq)
		return -EOPNOTSUPP;
	INIT_LIST_HEAD(&qp->receives);
	INIT_LIST_HEAD(&qp->requests);
	qp->type = attr->qp_type;
	qp->state = IB_QPS_RESET;
	qp->of_program = udata;
	attr->cap.max_inline_data = 0;
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->init = *attr;
	spin_lock_irqsave(&lab_lock, flags);
	if (qp->type == IB_QPT_SMI || qp->type == IB_QPT_GSI)
		ibqp->qp_num = qp->type == IB_QPT_GSI;
	else
		ibqp->qp_num = next_number++;
	list_add_tail(&qp->entry, &hca->qps);
	spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static int modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct lab_hca *hca = to_hca(ibqp->device);
	struct lab_qp *qp = to_qp(ibqp);
	unsigned long flags;

	spin_lock_irqsave(&lab_lock, flags);
	if (mask & IB_QP_PORT)
		qp->port = &hca->ports[attr->port_num - 1];
	if (mask & IB_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & IB_QP_DEST_QPN)
		qp->peer_qpn = attr->dest_qp_num;
	if (mask & IB_QP_AV)
		qp->peer_lid = rdma_ah_get_dlid(&attr->ah_attr);
	if (mask & IB_QP_SQ_PSN)
		qp->next_send = attr->sq_psn & LAB_NUMBERS;
	if (mask & IB_QP_RQ_PSN)
		qp->next_receive = attr->rq_psn & LAB_NUMBERS;
	if (mask & IB_QP_STATE) {
		qp->state = attr->qp_state;
		if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_RESET) {
			lab_drop_requests(qp, qp->state == IB_QPS_ERR);
			drop_receives(qp, qp->state == IB_QPS_ERR);
		}
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static int query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	const struct lab_qp *qp = to_qp(ibqp);

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->qkey = qp->qkey;
	attr->pkey_index = qp->pkey_index;
	attr->dest_qp_num = qp->peer_qpn;
	attr->port_num = qp->port ? qp->port->number : 0;
	*init = qp->init;
	return 0;
}

static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct lab_qp *qp = to_qp(ibqp);
	unsigned long flags;

	spin_lock_irqsave(&lab_lock, flags);
	list_del(&qp->entry);
	lab_drop_requests(qp, false);
	drop_receives(qp, false);
	/* They point to it. */
	drop_completions(to_cq(ibqp->send_cq), ibqp);
	drop_completions(to_cq(ibqp->recv_cq), ibqp);
	spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct lab_qp *qp = to_qp(ibqp);
	struct lab_receive *one;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&lab_lock, flags);
	for (; wr; wr = wr->next) {
		struct ib_wc flushed = { .wr_id = wr->wr_id, .status = IB_WC_WR_FLUSH_ERR, .qp = ibqp };

		if (qp->state == IB_QPS_ERR) {
			lab_complete(ibqp->recv_cq, &flushed);
			continue;
		}
		one = wr->num_sge > MAX_SGE ? NULL : kzalloc(sizeof(*one), GFP_ATOMIC);
		if (!one) {
			*bad = wr;
			err = -ENOMEM;
			break;
		}
		one->wr_id = wr->wr_id;
		one->count = wr->num_sge;
		memcpy(one->sge, wr->sg_list, wr->num_sge * sizeof(*one->sge));
		list_add_tail(&one->entry, &qp->receives);
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	return err;
}

enum ib_wc_opcode lab_completion_of(enum ib_wr_opcode request)
{
	switch (request) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	default:
		return IB_WC_SEND;
	}
}

void lab_fail(struct lab_qp *qp)
{
	qp->state = IB_QPS_ERR;
	lab_drop_requests(qp, true);
	drop_receives(qp, true);
}

static void send_here(struct lab_qp *qp, const struct ib_send_wr *wr)
{
	struct ib_wc wc = { .wr_id = wr->wr_id, .opcode = lab_completion_of(wr->opcode), .qp = &qp->ib };
	const bool lost = qp->state == IB_QPS_ERR;

	wc.status = lost ? IB_WC_WR_FLUSH_ERR : lab_send(qp, wr);
	/* Due for a datagram that nobody receives as well, or ib_mad waits for ever. */
	if (qp->signal_all || (wr->send_flags & IB_SEND_SIGNALED) || wc.status)
		lab_complete(qp->ib.send_cq, &wc);
	if (wc.status && !lost)
		lab_fail(qp);
}

static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct lab_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&lab_lock, flags);
	for (; wr && !err; wr = wr->next) {
		if (qp->state == IB_QPS_ERR || !lab_is_remote(qp))
			send_here(qp, wr);
		else
			err = lab_request(qp, wr);
		if (err)
			*bad = wr;
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	return err;
}

static int attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct lab_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&lab_lock, flags);
	if (qp->groups == MAX_GROUPS_OF_QP)
		err = -ENOMEM;
	else
		qp->group[qp->groups++] = *gid;
	spin_unlock_irqrestore(&lab_lock, flags);
	return err;
}

static int detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct lab_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int i;

	spin_lock_irqsave(&lab_lock, flags);
	for (i = 0; i < qp->groups; i++) {
		if (memcmp(&qp->group[i], gid, sizeof(*gid)) == 0) {
			qp->group[i] = qp->group[--qp->groups];
			break;
		}
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

/* ---- What has nothing behind it ---- */

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	return 0;
}

static void dealloc_ucontext(struct ib_ucontext *context)
{
}

/* Without this operation the RDMA core refuses to change the network namespace. */
static void disassociate_ucontext(struct ib_ucontext *context)
{
}

static int no_mmap(struct ib_ucontext *context, struct vm_area_struct *area)
{
	return -EOPNOTSUPP;
}

static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	container_of(ibah, struct lab_ah, ib)->attr = *init->ah_attr;
	return 0;
}

/* The core does not demand it, but every query of ib_sa fails with EAGAIN without. */
static int query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = container_of(ibah, struct lab_ah, ib)->attr;
	return 0;
}

static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

const struct ib_device_ops lab_verbs = {
	.owner = THIS_MODULE,
	/*
	 * Of rdma-core's providers hfi1verbs is one that asks the kernel for everything,
	 * queues included, if the device has this version.
	 */
	.driver_id = RDMA_DRIVER_HFI1,
	.uverbs_abi_ver = 1,
	.alloc_pd = alloc_pd,
	.alloc_ucontext = alloc_ucontext,
	.attach_mcast = attach_mcast,
	.create_ah = create_ah,
	.create_user_ah = create_ah,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.dealloc_pd = dealloc_pd,
	.dealloc_ucontext = dealloc_ucontext,
	.dereg_mr = lab_dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.detach_mcast = detach_mcast,
	.disassociate_ucontext = disassociate_ucontext,
	.get_dma_mr = lab_get_dma_mr,
	.mmap = no_mmap,
	.modify_qp = modify_qp,
	.poll_cq = poll_cq,
	.post_recv = post_recv,
	.post_send = post_send,
	.process_mad = lab_process_mad,
	.query_ah = query_ah,
	.query_qp = query_qp,
	.reg_user_mr = lab_reg_user_mr,
	.req_notify_cq = req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_ah, lab_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, lab_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, lab_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, lab_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, lab_context, ib),
};
