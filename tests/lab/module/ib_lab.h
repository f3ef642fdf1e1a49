/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_lab - InfiniBand adapters without hardware, see ib_lab_main.c. What its
 * files share: the adapter, its ports, and the one lock of the fabric.
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
#define LAB_LIDS 0x4000			/* of one machine, see ib_lab_trunk.c */
#define LAB_NUMBERS 0xffffff		/* as packet sequence numbers have it */

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
	struct list_head requests;	/* RC, to another machine: without an answer */
	int waiting;			/* so many of them */
	struct lab_port *port;		/* NULL until INIT, but of QP0 and QP1 */
	enum ib_qp_type type;
	enum ib_qp_state state;
	bool of_program;		/* its work requests name regions, not pointers */
	bool signal_all;
	u16 pkey_index;
	u32 qkey;
	u32 peer_qpn;			/* RC and UC */
	u16 peer_lid;
	u32 next_send, next_receive;	/* numbers of messages from and to another machine */
	enum ib_wc_status answered;	/* what the last one received was answered with */
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
enum ib_wc_opcode lab_completion_of(enum ib_wr_opcode request);
/* A connection is lost: what the queue pair has is flushed. */
void lab_fail(struct lab_qp *qp);

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

/* ib_lab_fabric.c, all under lab_lock. */
enum lab_kind { LAB_DATAGRAM, LAB_TO_GROUP, LAB_QUESTION, LAB_REQUEST, LAB_ANSWER };

struct lab_packet {
	enum lab_kind kind;
	enum ib_qp_type type;		/* of the sender, RC and UC */
	enum ib_wr_opcode opcode;	/* RC and UC */
	enum ib_wc_status status;	/* of an answer */
	u8 *data;
	u32 length;
	u32 wanted;			/* so much is to be read */
	u16 lid, source_lid;
	u32 qpn, source_qpn;
	u16 pkey;
	u8 sl;
	bool has_grh;
	union ib_gid source, target;
	bool has_immediate;
	__be32 immediate;
	u64 remote;			/* address and key of the other side's memory */
	u32 key;
	u32 number;			/* of the message, RC to another machine */
};

/* What the completion has to say; not IB_WC_SUCCESS: a reliable connection is lost. */
enum ib_wc_status lab_send(struct lab_qp *qp, const struct ib_send_wr *wr);
enum ib_wc_status lab_status_of(int err);
struct lab_qp *lab_find_qp(u16 lid, u32 number);
bool lab_is_on_fabric(const struct lab_port *port);
/* The packet of a work request, with its data for as long as the lock is held. */
int lab_make_packet(struct lab_qp *qp, const struct ib_send_wr *wr, struct lab_packet *packet);
/* At the side that receives. What is read is in the packet then. */
int lab_execute(struct lab_qp *qp, struct lab_packet *packet);
int lab_scatter(const struct lab_qp *qp, const struct ib_sge *sge, int count, u32 skip, void *data, u32 length);
/* A packet of another machine. */
void lab_arrive(struct lab_packet *packet);
int lab_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);

/* ib_lab_trunk.c */
extern unsigned int lab_machine;	/* 0: the fabric ends with this machine */
bool lab_is_elsewhere(u16 lid);
void lab_trunk_send(const struct lab_packet *packet);	/* under lab_lock */
int lab_trunk_begin(void);
void lab_trunk_end(void);

/* ib_lab_remote.c, all under lab_lock but for the last. */
bool lab_is_remote(const struct lab_qp *qp);
int lab_request(struct lab_qp *qp, const struct ib_send_wr *wr);
void lab_requested(struct lab_packet *packet);
void lab_answered(const struct lab_packet *packet);
void lab_drop_requests(struct lab_qp *qp, bool report);
void lab_remote_end(void);

#endif
