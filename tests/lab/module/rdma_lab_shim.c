// SPDX-License-Identifier: GPL-2.0
/*
 * rdma_lab_shim - lets Soft-RoCE (rxe) stand in for the RDMA half of a NIC.
 *
 * A test lab has no RDMA hardware, only rxe on top of a netdev. Four things
 * about rxe give it away; each has a section below and a parameter that brings
 * rxe's own behaviour back:
 *
 *   movable  rxe cannot change its network namespace, a NIC's device can;
 *   follow   rxe dies when its netdev changes namespace, a NIC's device stays;
 *   parent   rxe hangs under /sys/devices/virtual, a NIC's device under its
 *            PCI function, which is where everybody looks for it;
 *   sockets  from Linux 7 on rxe sends and receives in the namespace where it
 *            was added and in no other.
 *
 * Load it before the first "rdma link add". It is no part of the product and
 * must not run on a machine that does real work.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>

#ifndef CONFIG_X86_64
#error "The probes below read and write the argument registers of x86-64."
#endif

static bool movable = true;
module_param(movable, bool, 0444);
MODULE_PARM_DESC(movable, "RDMA devices may change their network namespace");

static bool follow = true;
module_param(follow, bool, 0444);
MODULE_PARM_DESC(follow, "rxe survives its netdev's change of namespace");

static bool parent = true;
module_param(parent, bool, 0444);
MODULE_PARM_DESC(parent, "rxe is a child of its netdev's PCI function");

static bool sockets = true;
module_param(sockets, bool, 0444);
MODULE_PARM_DESC(sockets, "rxe takes its UDP sockets along into another namespace");

/* Of a function of the kernel that modules cannot link to; NULL: there is none. */
static void *address_of(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol };
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

/*
 * movable: the RDMA core refuses a move (EOPNOTSUPP) unless the driver can take
 * its user contexts away. rxe has nothing to take away, so an empty operation
 * will do. ib_set_device_ops() fills in only what the driver left out.
 */
static void nothing_to_disassociate(struct ib_ucontext *context)
{
}

static const struct ib_device_ops extra_ops = {
	.disassociate_ucontext = nothing_to_disassociate,
};

static int add_extra_ops(struct ib_device *ibdev)
{
	ib_set_device_ops(ibdev, &extra_ops);
	return 0;
}

static struct ib_client movable_client = {
	.name = KBUILD_MODNAME,
	.add = add_extra_ops,
};

/*
 * follow: the kernel announces a netdev's move to those who stay behind as
 * NETDEV_UNREGISTER, and rxe takes that for the end. In a move the netdev's
 * state is still "registered"; then show rxe an event that it does not act on.
 *
 *   rxe_notify(struct notifier_block *nb, unsigned long event, void *info)
 *                                     di                  si         dx
 */
static int before_rxe_notify(struct kprobe *probe, struct pt_regs *regs)
{
	const struct net_device *netdev;

	if (regs->si == NETDEV_UNREGISTER) {
		netdev = netdev_notifier_info_to_dev((void *)regs->dx);
		if (netdev->reg_state == NETREG_REGISTERED)
			regs->si = NETDEV_NOTIFY_PEERS;
	}
	return 0;
}

static struct kprobe follow_probe = {
	.symbol_name = "rxe_notify",
	.pre_handler = before_rxe_notify,
};

/*
 * sockets: since Linux 7.0 (f1327abd6abe) rxe has a UDP socket in each network
 * namespace, made by "rdma link add" in that of the netdev and never again. So
 * a device that moves has to let go of the old namespace's and take the new
 * one's. rxe_net_init() and rxe_net_del() are rxe's own, global, not exported.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
static int (*take_sockets)(struct net_device *ndev);
static void (*put_sockets)(struct ib_device *ibdev);

static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct ib_device *ibdev;

	if (event != NETDEV_REGISTER &&
	    !(event == NETDEV_UNREGISTER && ndev->reg_state == NETREG_REGISTERED))
		return NOTIFY_DONE;
	ibdev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);
	if (!ibdev)
		return NOTIFY_DONE;
	if (event == NETDEV_UNREGISTER)
		put_sockets(ibdev);
	else if (take_sockets(ndev))
		pr_err("no sockets for %s\n", ndev->name);
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_listener = {
	.notifier_call = netdev_event,
};

static int follow_with_sockets(void)
{
	take_sockets = address_of("rxe_net_init");
	put_sockets = address_of("rxe_net_del");
	if (!take_sockets || !put_sockets)
		return -ENOENT;
	return register_netdevice_notifier(&netdev_listener);
}

static void stay_without_sockets(void)
{
	unregister_netdevice_notifier(&netdev_listener);
}
#else
static int follow_with_sockets(void)
{
	return 0;
}

static void stay_without_sockets(void)
{
}
#endif

/*
 * parent: rxe registers without a parent device. Set one just before.
 *
 *   ib_register_device(struct ib_device *ibdev, name, dma_device)
 *                                        di
 *
 * The core's function that gives the netdev of a port is exported since 6.12.
 */
static struct net_device *(*netdev_of)(struct ib_device *ibdev, u32 port);

static int find_netdev_of(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	netdev_of = ib_device_get_netdev;
#else
	netdev_of = address_of("ib_device_get_netdev");
#endif
	return netdev_of ? 0 : -ENOENT;
}

static int before_register(struct kprobe *probe, struct pt_regs *regs)
{
	struct ib_device *ibdev = (void *)regs->di;
	struct net_device *netdev;

	if (ibdev->ops.driver_id != RDMA_DRIVER_RXE || ibdev->dev.parent)
		return 0;
	netdev = netdev_of(ibdev, 1);
	if (!netdev)
		return 0;
	if (netdev->dev.parent && dev_is_pci(netdev->dev.parent))
		ibdev->dev.parent = netdev->dev.parent;
	dev_put(netdev);
	return 0;
}

static struct kprobe parent_probe = {
	.symbol_name = "ib_register_device",
	.pre_handler = before_register,
};

/*
 * A child must not outlive its parent, but rxe unregisters from a work queue,
 * some time after its netdev has gone. So hold up the removal of the PCI
 * function until the child is away (5 s at most: then a warning of the kernel
 * is the better outcome).
 */
static int is_rdma_device(struct device *dev, void *unused)
{
	return dev->class && strcmp(dev->class->name, "infiniband") == 0;
}

static int pci_event(struct notifier_block *nb, unsigned long event, void *data)
{
	int patience = 500;

	if (event != BUS_NOTIFY_UNBOUND_DRIVER)
		return NOTIFY_DONE;
	while (patience-- > 0 && device_for_each_child(data, NULL, is_rdma_device))
		msleep(10);
	return NOTIFY_DONE;
}

static struct notifier_block pci_listener = {
	.notifier_call = pci_event,
};

static int __init shim_init(void)
{
	int err;

	if (follow) {
		err = register_kprobe(&follow_probe);
		if (err) {
			pr_err("no probe on rxe_notify (inlined?): %d\n", err);
			return err;
		}
	}
	if (parent) {
		err = find_netdev_of();
		if (!err)
			err = register_kprobe(&parent_probe);
		if (err)
			goto no_parent_probe;
		err = bus_register_notifier(&pci_bus_type, &pci_listener);
		if (err)
			goto no_listener;
	}
	if (sockets) {
		err = follow_with_sockets();
		if (err) {
			pr_err("rxe has no rxe_net_init or rxe_net_del: %d\n", err);
			goto no_sockets;
		}
	}
	if (movable) {
		err = ib_register_client(&movable_client);
		if (err)
			goto no_client;
	}
	return 0;

no_client:
	if (sockets)
		stay_without_sockets();
no_sockets:
	if (parent)
		bus_unregister_notifier(&pci_bus_type, &pci_listener);
no_listener:
	if (parent)
		unregister_kprobe(&parent_probe);
no_parent_probe:
	if (follow)
		unregister_kprobe(&follow_probe);
	return err;
}
module_init(shim_init);

/*
 * There is no exit function, so that the module cannot be unloaded: every RDMA
 * device now holds a pointer into extra_ops.
 */

MODULE_DESCRIPTION("Test lab: rxe in the place of a NIC's RDMA device");
MODULE_LICENSE("GPL");
