// A stand-in for a GPU's DRA driver: kubelet's plugin for gpu.test, whose devices are slices that a scenario writes. It prepares
// nothing, and answers for each claim that it has; while the file /run/gpu-driver.refuses is there, that it cannot.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	driver   = "gpu.test"
	folder   = "/var/lib/kubelet/plugins/" + driver
	endpoint = folder + "/dra.sock"
	refuses  = "/run/gpu-driver.refuses"
)

type plugin struct {
	dra.UnimplementedDRAPluginServer
	registration.UnimplementedRegistrationServer
}

func (plugin) NodePrepareResources(_ context.Context, request *dra.NodePrepareResourcesRequest) (*dra.NodePrepareResourcesResponse, error) {
	answer := &dra.NodePrepareResourcesResponse{Claims: map[string]*dra.NodePrepareResourceResponse{}}
	for _, claim := range request.Claims {
		one := &dra.NodePrepareResourceResponse{}
		if _, err := os.Stat(refuses); err == nil {
			one.Error = "the GPU is not ready"
		}
		answer.Claims[claim.Uid] = one
		fmt.Printf("prepare %s/%s: %q\n", claim.Namespace, claim.Name, one.Error)
	}
	return answer, nil
}

func (plugin) NodeUnprepareResources(_ context.Context, request *dra.NodeUnprepareResourcesRequest) (*dra.NodeUnprepareResourcesResponse, error) {
	answer := &dra.NodeUnprepareResourcesResponse{Claims: map[string]*dra.NodeUnprepareResourceResponse{}}
	for _, claim := range request.Claims {
		answer.Claims[claim.Uid] = &dra.NodeUnprepareResourceResponse{}
		fmt.Printf("unprepare %s/%s\n", claim.Namespace, claim.Name)
	}
	return answer, nil
}

func (plugin) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.DRAPlugin, Name: driver, Endpoint: endpoint,
		SupportedVersions: []string{dra.DRAPluginService}}, nil
}

func (plugin) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	fmt.Printf("registered: %v %s\n", status.PluginRegistered, status.Error)
	return &registration.RegistrationStatusResponse{}, nil
}

// serve listens at the path, where a stand-in before this one may have listened.
func serve(path string, register func(*grpc.Server)) error {
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	register(server)
	return server.Serve(listener)
}

func main() {
	failed := make(chan error)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "gpu_driver:", err)
		os.Exit(1)
	}
	go func() { failed <- serve(endpoint, func(to *grpc.Server) { dra.RegisterDRAPluginServer(to, plugin{}) }) }()
	go func() {
		failed <- serve("/var/lib/kubelet/plugins_registry/"+driver+"-reg.sock",
			func(to *grpc.Server) { registration.RegisterRegistrationServer(to, plugin{}) })
	}()
	fmt.Fprintln(os.Stderr, "gpu_driver:", <-failed)
	os.Exit(1)
}
