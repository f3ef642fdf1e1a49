// FakeCard: a PF in a temporary folder that does what a kernel does to writes of `vfrail provision`: makes
// and removes VFs, and binds drivers.
#pragma once

#include "plugin/provision/run.h"
#include "tests/plugin/provision/provision_tree.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace vfrail::test {

class FakeCard {
 public:
  static constexpr const char* kPf = "0000:18:00.0";
  static constexpr const char* kPath = "sys/devices/pci0000:16/0000:16:02.0/";

  FakeCard() : tree_("") {
    tree_.add(
        "pci pci0000:16/0000:16:02.0/0000:18:00.0 class=0x020000 vendor=8086 device=1572 driver=i40e "
        "net=ens1f0:1 carrier=1");
    const std::string base = std::string(kPath) + kPf + "/";
    tree_.add(base + "sriov_totalvfs = 8\n" + base + "sriov_numvfs = 0\n" + base +
              "sriov_drivers_autoprobe = 1\n" + base + "net/ens1f0/address = 0c:42:a1:65:f1:f0\n" +
              "sys/bus/pci/drivers_probe = x\n");
  }

  Tree& tree() { return tree_; }
  AutoprobeRecords records() const { return {tree_.root() + "/run/vfrail/provision", "boot"}; }
  ProgressRecords progress() const { return {tree_.root() + "/run/vfrail/provision", "boot"}; }

  ProvisionWorld world() {
    return {.sys = tree_.sys(),
            .records = records(),
            .progress = progress(),
            .write = [this](const std::string& path,
                            std::string_view text) { return write(path, std::string(text)); },
            .open_kernel = []() -> Result<std::unique_ptr<Kernel>> { return std::unique_ptr<Kernel>(); },
            .set_eswitch = [](const PciAddress&, EswitchMode) { return Result<>(); },
            .vfs_deadline = std::chrono::milliseconds(50)};
  }

  // "numvfs 2, autoprobe 1, i40e i40e": what a run is about, in a line.
  std::string state() const {
    std::string out =
        "numvfs " + text("sriov_numvfs") + ", autoprobe " + text("sriov_drivers_autoprobe") + ",";
    for (size_t i = 0; std::filesystem::exists(path("virtfn" + std::to_string(i))); ++i) {
      const auto driver = tree_.sys().link_name(std::string(kPath) + vf(i) + "/driver").or_none();
      out += " " + driver.value_or("-");
    }
    return out;
  }

  std::vector<std::string> log;         // "sriov_numvfs 2"
  bool dynamic_vfio = false;            // vfio-pci has the IDs of all VFs
  std::string refused;                  // a file whose write fails, with EIO
  std::vector<std::string> autoprobed;  // VFs that had a driver as soon as they were there

 private:
  static std::string vf(size_t index) { return "0000:18:02." + std::to_string(index); }
  std::string path(const std::string& file) const { return tree_.root() + "/" + kPath + kPf + "/" + file; }
  std::string text(const std::string& file) const {
    return tree_.sys().text(std::string(kPath) + kPf + "/" + file).or_none().value_or("?");
  }

  Result<> write(const std::string& file, const std::string& text) {
    const std::lock_guard lock(mutex_);
    const std::string name = std::filesystem::path(file).filename();
    log.push_back(name + " " + text);
    if (name == refused) return Error::from_errno(EIO, "write " + file);
    if (name == "sriov_numvfs") return make_vfs(std::stoul(text));
    // pci_device_can_probe() in drivers/pci/pci-driver.c.
    if (name == "drivers_probe")
      return this->text("sriov_drivers_autoprobe") == "1" ? bind(text) : Result<>();
    if (name == "unbind") {
      std::filesystem::remove(tree_.root() + "/" + kPath + text + "/driver");
      return {};
    }
    std::ofstream(file) << (text == "\n" ? "" : text);
    return {};
  }

  Result<> make_vfs(size_t count) {
    const bool has_some = text("sriov_numvfs") != "0";
    if (has_some && count != 0) return Error::from_errno(EBUSY, "write sriov_numvfs");
    for (size_t i = 0; has_some && std::filesystem::exists(path("virtfn" + std::to_string(i))); ++i) {
      std::filesystem::remove(path("virtfn" + std::to_string(i)));
      std::filesystem::remove("/" + tree_.root() + "/sys/bus/pci/devices/" + vf(i));
      std::filesystem::remove_all(tree_.root() + "/" + kPath + vf(i));
    }
    for (size_t i = 0; i < count; ++i) {
      const std::string link = std::string(kPath) + kPf + "/virtfn" + std::to_string(i);
      tree_.add("pci pci0000:16/0000:16:02.0/" + vf(i) + " class=0x020000 vendor=8086 device=154c\n" + kPath +
                vf(i) + "/physfn -> ../" + kPf + "\n" + link + " -> ../" + vf(i) + "\n");
      if (text("sriov_drivers_autoprobe") == "0") continue;
      autoprobed.push_back(vf(i));
      if (auto bound = bind(vf(i)); !bound) return bound;
    }
    std::ofstream(path("sriov_numvfs")) << count;
    return {};
  }

  Result<> bind(const std::string& address) {
    if (std::filesystem::exists(tree_.root() + "/" + kPath + address + "/driver")) return {};
    const std::string driver = dynamic_vfio ? "vfio-pci" : overridden(address).value_or("iavf");
    tree_.add(std::string(kPath) + address + "/driver -> ../../../../bus/pci/drivers/" + driver + "\n");
    if (driver == "iavf")
      tree_.add(std::string(kPath) + address + "/net/" + "eth" + address.substr(address.size() - 1) +
                "/type = 1\n");
    else
      tree_.add(std::string(kPath) + address + "/enable = 0\n");
    return {};
  }

  std::optional<std::string> overridden(const std::string& address) const {
    const auto text = tree_.sys().text(std::string(kPath) + address + "/driver_override").or_none();
    return text && !text->empty() && *text != "(null)" ? text : std::nullopt;
  }

  Tree tree_;
  std::mutex mutex_;
};

}  // namespace vfrail::test
