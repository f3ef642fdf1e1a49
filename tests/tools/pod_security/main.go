// What Kubernetes' own Pod Security admission says about the pods of the manifests on stdin: for each level a line
// with the controls that it finds violated, and what violates them.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	sigsyaml "sigs.k8s.io/yaml"
)

func run() error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	found := 0
	for {
		text, err := documents.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		var set appsv1.DaemonSet
		if err := sigsyaml.Unmarshal(text, &set); err != nil {
			return err
		}
		if set.Kind != "DaemonSet" {
			continue
		}
		// Now strictly: a key that Kubernetes does not know is an error here.
		if err := sigsyaml.UnmarshalStrict(text, &set); err != nil {
			return err
		}
		found++
		template := set.Spec.Template
		for _, level := range []api.Level{api.LevelPrivileged, api.LevelBaseline, api.LevelRestricted} {
			version := api.LevelVersion{Level: level, Version: api.LatestVersion()}
			for _, result := range evaluator.EvaluatePod(version, &template.ObjectMeta, &template.Spec) {
				if !result.Allowed {
					fmt.Printf("%s %s: %s (%s)\n", set.Name, level, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("no DaemonSet on stdin")
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pod_security:", err)
		os.Exit(1)
	}
}
