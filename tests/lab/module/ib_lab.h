/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_lab - InfiniBand adapters without hardware, see ib_lab_main.c. What its
 * four files share: the adapter, its ports, and the one lock of the fabric.
 */
#ifndef IB_LAB_H
#define IB_LAB_H

#include <linux/list.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#define MAX_PORTS 2
#define MAX_VFS 128		/* an emulated NVMe has 127, see provision_times_test.sh */
#define MAX_PKEYS 16
#define SM_LID 1
#define SUBNET_PREFIX 0xfe80000000000000ULL
#define MAX_SGE 32
#define MAX_GROUPS_OF_QP 64
#define LAB_MAX_MESSAGE (1 << 20)

struct lab_hca;

/* What a test can set (debugfs) and what the fabric counts. */
struct lab_counters {
	u32 symbol_errors, link_recoveries, link_downed, rcv_errors, xmit_discards, integrity_errors;
	u64 xmit_bytes, rcv_bytes, xmit_packets, rcv_packets;
};

struct lab_port {
	struct lab_hca *hca;
	u32 number;
	u64 guid;
	u16 lid;
	bool cable;			/* debugfs; of a PF also that of its VFs */
	bool configured;		/* the subnet manager knows the GUID */
	enum ib_port_state state;
	unsigned long pending;		/* events that are due, see lab_port_event */
	struct delayed_work event;
	struct delayed_work configure;
	struct lab_counters counters;
};

struct lab_hca {
	struct ib_device ib;
	struct pci_dev *pdev;
	struct pci_dev *pf;		/* NULL: it is one */
	int vf;
	u64 node_guid;
	struct lab_port ports[MAX_PORTS];
	struct list_head entry;		/* in lab_hcas */
	struct list_head qps;
	struct dentry *folder;
};

enum lab_port_event { LAB_STATE, LAB_PKEYS, LAB_GID };

static inline struct lab_hca *to_hca(struct ib_device *ibdev)
{
	return container_of(ibdev, struct lab_hca, ib);
}

/* Of adapters, ports, queue pairs and what lies in queues. */
extern spinlock_t lab_lock;
extern struct list_head lab_hcas;
extern bool lab_sm;
extern u16 lab_pkeys[MAX_PKEYS];

/* ib_lab_verbs.c */
struct lab_receive {
	struct list_head entry;
	u64 wr_id;
	int count;
	struct ib_sge sge[MAX_SGE];
};

struct lab_qp {
	struct ib_qp ib;
	struct list_head entry;		/* in lab_hca.qps */
	struct list_head receives;
	struct lab_port *port;		/* NULL until INIT, but of QP0 and QP1 */
	enum ib_qp_type type;
	enum ib_qp_state state;
	bool of_program;		/* its work requests name regions, not pointers */
	bool signal_all;
	u16 pkey_index;
	u32 qkey;
	u32 peer_qpn;			/* RC and UC */
	u16 peer_lid;
	int groups;
	union ib_gid group[MAX_GROUPS_OF_QP];
	struct ib_qp_init_attr init;
};

static inline struct lab_qp *to_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct lab_qp, ib);
}

extern const struct ib_device_ops lab_verbs;
void lab_complete(struct ib_cq *ibcq, const struct ib_wc *wc);

/* ib_lab_memory.c */
struct ib_mr *lab_get_dma_mr(struct ib_pd *ibpd, int access);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
struct ib_mr *lab_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_dmah *dmah, struct ib_udata *udata);
#else
struct ib_mr *lab_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 address, int access,
			      struct ib_udata *udata);
#endif
int lab_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int lab_copy(const struct lab_qp *qp, u32 key, u64 address, void *data, u32 length, int access, bool into);

/* ib_lab_fabric.c, all under lab_lock. What the completion has to say; not IB_WC_SUCCESS: a reliable
 * connection is lost. */
enum ib_wc_status lab_send(struct lab_qp *qp, const struct ib_send_wr *wr);
int lab_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);

#endif
