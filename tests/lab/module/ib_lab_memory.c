// SPDX-License-Identifier: GPL-2.0
/*
 * ib_lab: memory of programs. A region is the pages that the core has pinned;
 * a packet is copied into and out of it by the processor. What the kernel
 * itself sends and receives (IPoIB, MADs) has pointers in place of regions.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>

#include "ib_lab.h"

/* Seen in 6.12 and 7.3; the version between them that renamed it is not known here. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define get_pages ib_umem_get_va
#else
#define get_pages ib_umem_get
#endif

struct lab_mr {
	struct ib_mr ib;
	struct ib_umem *umem;		/* NULL: all of the kernel's */
	u64 start, length;		/* as work requests have it */
	int access;
};

/* By key; a region is used under lab_lock, and leaves under it. */
static DEFINE_XARRAY_FLAGS(lab_mrs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);

struct ib_mr *lab_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct lab_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	return mr ? &mr->ib : ERR_PTR(-ENOMEM);
}

static struct ib_mr *register_memory(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access)
{
	struct lab_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	u32 key;
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = get_pages(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto no_umem;
	}
	mr->start = address;
	mr->length = length;
	mr->access = access;
	mr->ib.device = ibpd->device;
	err = xa_alloc_irq(&lab_mrs, &key, mr, XA_LIMIT(0x100, 0xffffff), GFP_KERNEL);
	if (err)
		goto no_key;
	mr->ib.lkey = key;
	mr->ib.rkey = key;
	return &mr->ib;
no_key:
	ib_umem_release(mr->umem);
no_umem:
	kfree(mr);
	return ERR_PTR(err);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
struct ib_mr *lab_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_dmah *dmah, struct ib_udata *udata)
{
	return dmah ? ERR_PTR(-EOPNOTSUPP) : register_memory(ibpd, start, length, address, access);
}
#else
struct ib_mr *lab_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_udata *udata)
{
	return register_memory(ibpd, start, length, address, access);
}
#endif

int lab_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct lab_mr *mr = container_of(ibmr, struct lab_mr, ib);
	unsigned long flags;

	if (mr->umem) {
		spin_lock_irqsave(&lab_lock, flags);
		xa_lock(&lab_mrs);
		__xa_erase(&lab_mrs, mr->ib.lkey);
		xa_unlock(&lab_mrs);
		spin_unlock_irqrestore(&lab_lock, flags);
		ib_umem_release(mr->umem);
	}
	kfree(mr);
	return 0;
}

/*
 * Between `data` and the region with that key, which must be of the queue
 * pair's protection domain and allow `access`. Under lab_lock. -EACCES: it does not.
 */
int lab_copy(const struct lab_qp *qp, u32 key, u64 address, void *data, u32 length, int access, bool into)
{
	const struct lab_mr *mr = xa_load(&lab_mrs, key);
	struct sg_append_table *pages;
	size_t done, skip;

	if (!mr || mr->ib.pd != qp->ib.pd || (mr->access & access) != access)
		return -EACCES;
	if (address < mr->start || length > mr->length || address - mr->start > mr->length - length)
		return -EACCES;
	pages = &mr->umem->sgt_append;
	skip = address - mr->start + ib_umem_offset(mr->umem);
	done = into ? sg_pcopy_from_buffer(pages->sgt.sgl, pages->sgt.orig_nents, data, length, skip)
		    : sg_pcopy_to_buffer(pages->sgt.sgl, pages->sgt.orig_nents, data, length, skip);
	return done == length ? 0 : -EACCES;
}
