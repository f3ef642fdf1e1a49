// SPDX-License-Identifier: GPL-2.0
/*
 * ib_lab - InfiniBand adapters with virtual functions, without hardware.
 *
 * A driver for the PCI functions of the emulated NIC, in the place of igb and
 * igbvf. Each function, physical and virtual, is an adapter with an InfiniBand
 * device (ib_lab_verbs.c) on one fabric (ib_lab_fabric.c); IPoIB, the
 * connection manager and all else above the RDMA core are the kernel's own.
 *
 * What the tests are about is here: how a virtual function gets its GUIDs and
 * its link state from the physical one, when a port becomes active, and what
 * can go wrong on the way. Each such thing is a parameter, which can be changed
 * while the module is loaded:
 *
 *   sm            without a subnet manager ports stay INIT and have no LID;
 *   configure_ms  it takes so long until a port with a GUID that is new to it
 *                 is ACTIVE;
 *   event_ms      a change of a port is announced so much later than it is
 *                 visible;
 *   pkeys         the partitions of every port;
 *   refused_guid  a GUID that physical functions refuse to give;
 *   live_guid     a VF sees a new GUID at once, not when its driver is bound;
 *   fail_probes   so many VFs that are bound next get no driver;
 *   probe_ms      the firmware takes so long for each VF that is bound;
 *   ports         1 or 2 for each adapter, when it is loaded only;
 *   trunk         the network interface by which the fabric goes on to another
 *                 machine, when it is loaded only (ib_lab_trunk.c);
 *   machine       this machine's number on it, 1 or 2: of its LIDs and GUIDs.
 *
 * and /sys/kernel/debug/ib_lab/ADDRESS/portN/ has the cable and the errors that
 * the port counts. vf_probes and vf_probes_without_guid, in its top folder, count
 * how often a VF was bound, and how often one that had no GUID was.
 *
 * It is no part of the product and must not run on a machine that does real
 * work.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/if_link.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ib_lab.h"

DEFINE_SPINLOCK(lab_lock);
LIST_HEAD(lab_hcas);

static unsigned int ports = 1;
module_param(ports, uint, 0444);
MODULE_PARM_DESC(ports, "ports of each adapter, 1 or 2");

static unsigned int configure_ms;
module_param(configure_ms, uint, 0644);
MODULE_PARM_DESC(configure_ms, "ms until the subnet manager has made a port ACTIVE");

static unsigned int event_ms;
module_param(event_ms, uint, 0644);
MODULE_PARM_DESC(event_ms, "ms between a change of a port and its event");

static unsigned long long refused_guid;
module_param(refused_guid, ullong, 0644);
MODULE_PARM_DESC(refused_guid, "no VF can be given this GUID");

static bool live_guid;
module_param(live_guid, bool, 0644);
MODULE_PARM_DESC(live_guid, "a GUID is a VF's at once, not when its driver is bound again");

static int fail_probes;
module_param(fail_probes, int, 0644);
MODULE_PARM_DESC(fail_probes, "so many VFs get no driver when one is bound");

static unsigned int probe_ms;
module_param(probe_ms, uint, 0644);
MODULE_PARM_DESC(probe_ms, "ms that the firmware takes when a VF is bound");

static struct dentry *debug_folder;

/* VFs can be bound at once. */
static atomic_t vf_probes = ATOMIC_INIT(0);
static atomic_t vf_probes_without_guid = ATOMIC_INIT(0);

/* ---- What an adapter keeps while no driver is bound ---- */

struct vf_setting {
	u64 node_guid;
	u64 port_guid[MAX_PORTS];
	int policy[MAX_PORTS];		/* IFLA_VF_LINK_STATE_... */
};

struct firmware_of_pf {
	struct list_head entry;
	struct pci_bus *bus;
	unsigned int devfn;
	struct vf_setting vf[MAX_VFS];
};

static LIST_HEAD(firmwares);

/* Not by its pci_dev, which is another one after a hotplug. Made by the probe of the PF, which comes first. */
static struct firmware_of_pf *firmware_of(const struct pci_dev *pf)
{
	struct firmware_of_pf *one;

	list_for_each_entry(one, &firmwares, entry) {
		if (one->bus == pf->bus && one->devfn == pf->devfn)
			return one;
	}
	return NULL;
}

static int make_firmware(const struct pci_dev *pf)
{
	struct firmware_of_pf *one = firmware_of(pf);
	unsigned long flags;

	if (one)
		return 0;
	one = kzalloc(sizeof(*one), GFP_KERNEL);
	if (!one)
		return -ENOMEM;
	one->bus = pf->bus;
	one->devfn = pf->devfn;
	spin_lock_irqsave(&lab_lock, flags);
	list_add_tail(&one->entry, &firmwares);
	spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static struct vf_setting *setting_of(struct pci_dev *pf, int vf)
{
	struct firmware_of_pf *one = firmware_of(pf);

	return one && vf >= 0 && vf < MAX_VFS ? &one->vf[vf] : NULL;
}

/* ---- The state of ports ---- */

static struct lab_port *port_of(struct pci_dev *pdev, u32 number)
{
	struct lab_hca *hca;

	list_for_each_entry(hca, &lab_hcas, entry) {
		if (hca->pdev == pdev)
			return &hca->ports[number - 1];
	}
	return NULL;
}

static bool has_link(const struct lab_port *port)
{
	const struct lab_hca *hca = port->hca;
	const struct vf_setting *setting;
	const struct lab_port *of_pf;

	if (!hca->pf)
		return port->cable;
	setting = setting_of(hca->pf, hca->vf);
	switch (setting->policy[port->number - 1]) {
	case IFLA_VF_LINK_STATE_ENABLE:
		return true;
	case IFLA_VF_LINK_STATE_DISABLE:
		return false;
	}
	of_pf = port_of(hca->pf, port->number);
	return port->guid && (!of_pf || of_pf->cable);
}

static enum ib_port_state state_of(const struct lab_port *port)
{
	if (!has_link(port))
		return IB_PORT_DOWN;
	return lab_sm && port->configured ? IB_PORT_ACTIVE : IB_PORT_INIT;
}

static void announce(struct lab_port *port, enum lab_port_event what)
{
	set_bit(what, &port->pending);
	mod_delayed_work(system_wq, &port->event, msecs_to_jiffies(event_ms));
}

/* After anything that a state depends on has changed. Takes lab_lock. */
static void refresh_ports(void)
{
	struct lab_hca *hca;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&lab_lock, flags);
	list_for_each_entry(hca, &lab_hcas, entry) {
		for (i = 0; i < ports; i++) {
			struct lab_port *port = &hca->ports[i];
			const enum ib_port_state now = state_of(port);

			if (now == port->state)
				continue;
			if (now == IB_PORT_DOWN)
				port->counters.link_downed++;
			port->state = now;
			announce(port, LAB_STATE);
		}
	}
	spin_unlock_irqrestore(&lab_lock, flags);
}

static void send_event(struct work_struct *work)
{
	struct lab_port *port = container_of(to_delayed_work(work), struct lab_port, event);
	struct ib_event event = { .device = &port->hca->ib, .element.port_num = port->number };

	if (test_and_clear_bit(LAB_PKEYS, &port->pending)) {
		event.event = IB_EVENT_PKEY_CHANGE;
		ib_dispatch_event(&event);
	}
	if (test_and_clear_bit(LAB_GID, &port->pending)) {
		event.event = IB_EVENT_GID_CHANGE;
		ib_dispatch_event(&event);
	}
	if (test_and_clear_bit(LAB_STATE, &port->pending)) {
		event.event = port->state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
		ib_dispatch_event(&event);
	}
}

static void configure(struct work_struct *work)
{
	struct lab_port *port = container_of(to_delayed_work(work), struct lab_port, configure);

	port->configured = true;
	refresh_ports();
}

/* The subnet manager meets a GUID that it does not know. */
static void meet(struct lab_port *port)
{
	port->configured = configure_ms == 0;
	if (!port->configured)
		mod_delayed_work(system_wq, &port->configure, msecs_to_jiffies(configure_ms));
}

/* ---- Parameters of the fabric ---- */

bool lab_sm = true;

static int set_sm(const char *text, const struct kernel_param *param)
{
	int err = param_set_bool(text, param);

	refresh_ports();
	return err;
}

static const struct kernel_param_ops sm_ops = { .set = set_sm, .get = param_get_bool };
module_param_cb(sm, &sm_ops, &lab_sm, 0644);
MODULE_PARM_DESC(sm, "there is a subnet manager");

u16 lab_pkeys[MAX_PKEYS] = { 0xffff, 0x8001 };

static int set_pkeys(const char *text, const struct kernel_param *param)
{
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *word;
	u16 keys[MAX_PKEYS] = {};
	struct lab_hca *hca;
	unsigned long flags;
	int err = copy ? 0 : -ENOMEM, count = 0, i;

	while (!err && (word = strsep(&rest, ","))) {
		if (count == MAX_PKEYS)
			err = -E2BIG;
		else
			err = kstrtou16(strim(word), 0, &keys[count++]);
	}
	kfree(copy);
	if (err)
		return err;
	spin_lock_irqsave(&lab_lock, flags);
	memcpy(lab_pkeys, keys, sizeof(lab_pkeys));
	list_for_each_entry(hca, &lab_hcas, entry) {
		for (i = 0; i < ports; i++)
			announce(&hca->ports[i], LAB_PKEYS);
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	return 0;
}

static int get_pkeys(char *text, const struct kernel_param *param)
{
	int i, length = 0;

	for (i = 0; i < MAX_PKEYS && lab_pkeys[i]; i++)
		length += sysfs_emit_at(text, length, "%s0x%04x", i ? "," : "", lab_pkeys[i]);
	return length + sysfs_emit_at(text, length, "\n");
}

static const struct kernel_param_ops pkeys_ops = { .set = set_pkeys, .get = get_pkeys };
module_param_cb(pkeys, &pkeys_ops, NULL, 0644);
MODULE_PARM_DESC(pkeys, "P_Keys of every port, the default one first (0xffff,0x8001)");

/* ---- What the RDMA core asks about the device ---- */

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port_num)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port_num, struct ib_port_immutable *out)
{
	out->pkey_tbl_len = MAX_PKEYS;
	out->gid_tbl_len = 1;
	out->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	out->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static void get_dev_fw_str(struct ib_device *ibdev, char *text)
{
	strscpy(text, "20.43.1014", IB_FW_VERSION_NAME_MAX);
}

static int query_device(struct ib_device *ibdev, struct ib_device_attr *out, struct ib_udata *udata)
{
	const struct lab_hca *hca = to_hca(ibdev);

	memset(out, 0, sizeof(*out));
	out->fw_ver = 20ULL << 32 | 43 << 16 | 1014;
	out->sys_image_guid = cpu_to_be64(hca->node_guid);
	out->vendor_id = 0x02c9;
	out->vendor_part_id = hca->pf ? 4124 : 4123;
	out->max_mr_size = ~0ULL;
	out->page_size_cap = PAGE_SIZE;
	out->max_qp = 4096;
	out->max_qp_wr = 8192;
	out->max_send_sge = MAX_SGE;
	out->max_recv_sge = MAX_SGE;
	out->max_sge_rd = 1;
	out->max_cq = 4096;
	out->max_cqe = 65536;
	out->max_mr = 4096;
	out->max_qp_rd_atom = 16;
	out->max_qp_init_rd_atom = 16;
	out->max_pd = 4096;
	out->max_ah = 65536;
	out->max_pkeys = MAX_PKEYS;
	out->max_mcast_grp = 1024;
	out->max_mcast_qp_attach = MAX_GROUPS_OF_QP;
	out->max_total_mcast_qp_attach = 65536;
	out->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	/* Without this IPoIB offers to set the function's VFs: "ip link set ib0 vf 0 port_guid ...". */
	if (hca->pf)
		out->kernel_cap_flags |= IBK_VIRTUAL_FUNCTION;
	return 0;
}

static int query_port(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *out)
{
	const struct lab_port *port = &to_hca(ibdev)->ports[port_num - 1];
	const bool active = port->state == IB_PORT_ACTIVE;

	out->state = port->state;
	out->phys_state = port->state == IB_PORT_DOWN ? IB_PORT_PHYS_STATE_DISABLED
						      : IB_PORT_PHYS_STATE_LINK_UP;
	out->max_mtu = IB_MTU_4096;
	out->active_mtu = IB_MTU_2048;
	out->gid_tbl_len = 1;
	out->pkey_tbl_len = MAX_PKEYS;
	out->max_msg_sz = LAB_MAX_MESSAGE;
	out->max_vl_num = 1;
	out->active_width = IB_WIDTH_4X;
	out->active_speed = port->state == IB_PORT_DOWN ? IB_SPEED_SDR : IB_SPEED_HDR;
	out->subnet_prefix = SUBNET_PREFIX;
	/* A port has no LID before the subnet manager has given it one. */
	out->lid = active ? port->lid : 0;
	out->sm_lid = active ? SM_LID : 0;
	return 0;
}

static int query_gid(struct ib_device *ibdev, u32 port_num, int index, union ib_gid *out)
{
	out->global.subnet_prefix = cpu_to_be64(SUBNET_PREFIX);
	out->global.interface_id = cpu_to_be64(to_hca(ibdev)->ports[port_num - 1].guid);
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *out)
{
	*out = lab_pkeys[index];
	return 0;
}

/* ---- VFs, as their PF sets them ---- */

static struct vf_setting *setting_by_pf(struct ib_device *ibdev, int vf)
{
	struct pci_dev *pdev = to_hca(ibdev)->pdev;

	return to_hca(ibdev)->pf || vf >= pci_num_vf(pdev) ? NULL : setting_of(pdev, vf);
}

static void take_guid_over(struct pci_dev *pf, int vf, u32 number, u64 guid)
{
	struct lab_hca *hca;
	unsigned long flags;

	spin_lock_irqsave(&lab_lock, flags);
	list_for_each_entry(hca, &lab_hcas, entry) {
		struct lab_port *port = &hca->ports[number - 1];

		if (hca->pf != pf || hca->vf != vf || port->guid == guid)
			continue;
		port->guid = guid;
		meet(port);
		announce(port, LAB_GID);
	}
	spin_unlock_irqrestore(&lab_lock, flags);
	refresh_ports();
}

static int set_vf_guid(struct ib_device *ibdev, int vf, u32 port_num, u64 guid, int type)
{
	struct vf_setting *setting = setting_by_pf(ibdev, vf);

	if (!setting || (refused_guid && guid == refused_guid))
		return -EINVAL;
	if (type == IFLA_VF_IB_NODE_GUID) {
		setting->node_guid = guid;
	} else if (type == IFLA_VF_IB_PORT_GUID) {
		setting->port_guid[port_num - 1] = guid;
		if (live_guid)
			take_guid_over(to_hca(ibdev)->pdev, vf, port_num, guid);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int get_vf_guid(struct ib_device *ibdev, int vf, u32 port_num, struct ifla_vf_guid *node,
		       struct ifla_vf_guid *port)
{
	const struct vf_setting *setting = setting_by_pf(ibdev, vf);

	if (!setting)
		return -EINVAL;
	node->vf = vf;
	node->guid = setting->node_guid;
	port->vf = vf;
	port->guid = setting->port_guid[port_num - 1];
	return 0;
}

static int set_vf_link_state(struct ib_device *ibdev, int vf, u32 port_num, int state)
{
	struct vf_setting *setting = setting_by_pf(ibdev, vf);

	if (!setting)
		return -EINVAL;
	setting->policy[port_num - 1] = state;
	refresh_ports();
	return 0;
}

static int get_vf_config(struct ib_device *ibdev, int vf, u32 port_num, struct ifla_vf_info *out)
{
	const struct vf_setting *setting = setting_by_pf(ibdev, vf);

	if (!setting)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	out->vf = vf;
	out->linkstate = setting->policy[port_num - 1];
	return 0;
}

static const struct ib_device_ops device_ops = {
	.get_dev_fw_str = get_dev_fw_str,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.get_vf_config = get_vf_config,
	.get_vf_guid = get_vf_guid,
	.query_device = query_device,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.set_vf_guid = set_vf_guid,
	.set_vf_link_state = set_vf_link_state,
};

/* ---- The PCI function ---- */

static int set_cable(void *data, u64 in)
{
	((struct lab_port *)data)->cable = in;
	refresh_ports();
	return 0;
}

static int get_cable(void *data, u64 *in)
{
	*in = ((struct lab_port *)data)->cable;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(cable_file, get_cable, set_cable, "%llu\n");

static void make_debug_files(struct lab_port *port)
{
	struct lab_counters *counters = &port->counters;
	char name[] = "portN";
	struct dentry *folder;

	name[4] = '0' + port->number;
	folder = debugfs_create_dir(name, port->hca->folder);
	debugfs_create_file_unsafe("cable", 0600, folder, port, &cable_file);
	debugfs_create_u32("symbol_error", 0600, folder, &counters->symbol_errors);
	debugfs_create_u32("link_error_recovery", 0600, folder, &counters->link_recoveries);
	debugfs_create_u32("link_downed", 0600, folder, &counters->link_downed);
	debugfs_create_u32("port_rcv_errors", 0600, folder, &counters->rcv_errors);
	debugfs_create_u32("port_xmit_discards", 0600, folder, &counters->xmit_discards);
	debugfs_create_u32("local_link_integrity_errors", 0600, folder, &counters->integrity_errors);
}

static void init_port(struct lab_hca *hca, int i)
{
	const struct vf_setting *setting = hca->pf ? setting_of(hca->pf, hca->vf) : NULL;
	static atomic_t last_lid = ATOMIC_INIT(SM_LID);
	struct lab_port *port = &hca->ports[i];

	port->hca = hca;
	port->number = i + 1;
	port->cable = true;
	port->guid = setting ? setting->port_guid[i] : hca->node_guid + ((u64)port->number << 32);
	port->lid = LAB_LIDS * lab_machine + atomic_inc_return(&last_lid);
	INIT_DELAYED_WORK(&port->event, send_event);
	INIT_DELAYED_WORK(&port->configure, configure);
	make_debug_files(port);
}

static void describe(struct lab_hca *hca)
{
	struct ib_device *ibdev = &hca->ib;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->node_guid = cpu_to_be64(hca->node_guid);
	ibdev->phys_port_cnt = ports;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->dev.parent = &hca->pdev->dev;
	strscpy(ibdev->node_desc, "ib_lab", sizeof(ibdev->node_desc));
	/* Programs have no queues of their own here: they post and poll by system calls. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) | BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				  BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ) | BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_set_device_ops(ibdev, &lab_verbs);
	ib_set_device_ops(ibdev, &device_ops);
}

static void plug_in(struct lab_hca *hca)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&lab_lock, flags);
	list_add_tail(&hca->entry, &lab_hcas);
	for (i = 0; i < ports; i++) {
		meet(&hca->ports[i]);
		hca->ports[i].state = state_of(&hca->ports[i]);
	}
	spin_unlock_irqrestore(&lab_lock, flags);
}

static void unplug(struct lab_hca *hca)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&lab_lock, flags);
	list_del(&hca->entry);
	spin_unlock_irqrestore(&lab_lock, flags);
	for (i = 0; i < ports; i++) {
		cancel_delayed_work_sync(&hca->ports[i].configure);
		cancel_delayed_work_sync(&hca->ports[i].event);
	}
	debugfs_remove_recursive(hca->folder);
}

static int find_node_guid(struct lab_hca *hca)
{
	struct pci_dev *pdev = hca->pdev;
	const struct vf_setting *setting;

	if (!pdev->is_virtfn) {
		hca->node_guid = 0x0002c90300000000ULL | lab_machine << 16 | pdev->bus->number << 8 | pdev->devfn;
		return make_firmware(pdev);
	}
	hca->pf = pci_physfn(pdev);
	hca->vf = pci_iov_vf_id(pdev);
	setting = setting_of(hca->pf, hca->vf);
	if (!setting)
		return -ENODEV;
	hca->node_guid = setting->node_guid;
	atomic_inc(&vf_probes);
	if (!setting->node_guid || !setting->port_guid[0])
		atomic_inc(&vf_probes_without_guid);
	if (probe_ms)
		msleep(probe_ms);
	return 0;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct lab_hca *hca;
	int err, i;

	if (pdev->is_virtfn && fail_probes > 0) {
		fail_probes--;
		dev_err(&pdev->dev, "the firmware does not answer\n");
		return -ETIMEDOUT;
	}
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	hca = ib_alloc_device(lab_hca, ib);
	if (!hca)
		return -ENOMEM;
	hca->pdev = pdev;
	INIT_LIST_HEAD(&hca->qps);
	err = find_node_guid(hca);
	if (err)
		goto no_guid;
	hca->folder = debugfs_create_dir(pci_name(pdev), debug_folder);
	for (i = 0; i < ports; i++)
		init_port(hca, i);
	describe(hca);
	pci_set_drvdata(pdev, hca);
	plug_in(hca);
	err = ib_register_device(&hca->ib, "mlx5_%d", NULL);
	if (!err)
		return 0;
	unplug(hca);
no_guid:
	ib_dealloc_device(&hca->ib);
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct lab_hca *hca = pci_get_drvdata(pdev);

	if (!pdev->is_virtfn)
		pci_disable_sriov(pdev);
	ib_unregister_device(&hca->ib);
	unplug(hca);
	ib_dealloc_device(&hca->ib);
}

/* VFs that are made anew have no GUIDs, and follow the link of their PF. */
static int sriov_configure(struct pci_dev *pdev, int count)
{
	struct firmware_of_pf *firmware = firmware_of(pdev);
	int made;

	if (count > MAX_VFS)
		return -ERANGE;
	made = pci_sriov_configure_simple(pdev, count);
	if (made == 0)
		memset(firmware->vf, 0, sizeof(firmware->vf));
	return made;
}

static const struct pci_device_id functions[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x10c9) },	/* igb, as QEMU has it */
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x10ca) },	/* its VF */
	{}
};

static struct pci_driver driver = {
	.name = KBUILD_MODNAME,
	.id_table = functions,
	.probe = probe,
	.remove = remove,
	.sriov_configure = sriov_configure,
};

static int __init lab_init(void)
{
	int err;

	if (ports < 1 || ports > MAX_PORTS)
		return -EINVAL;
	err = lab_trunk_begin();
	if (err)
		return err;
	debug_folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_atomic_t("vf_probes", 0600, debug_folder, &vf_probes);
	debugfs_create_atomic_t("vf_probes_without_guid", 0600, debug_folder, &vf_probes_without_guid);
	err = pci_register_driver(&driver);
	if (err) {
		debugfs_remove_recursive(debug_folder);
		lab_trunk_end();
	}
	return err;
}
module_init(lab_init);

static void __exit lab_exit(void)
{
	struct firmware_of_pf *one, *next;

	pci_unregister_driver(&driver);
	lab_trunk_end();
	lab_remote_end();
	debugfs_remove_recursive(debug_folder);
	list_for_each_entry_safe(one, next, &firmwares, entry)
		kfree(one);
}
module_exit(lab_exit);

MODULE_DESCRIPTION("Test lab: InfiniBand adapters with VFs, without hardware");
MODULE_LICENSE("GPL");
