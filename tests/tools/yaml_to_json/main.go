// The YAML documents on stdin as one JSON list, for jq.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

func run() error {
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	all := []json.RawMessage{}
	for {
		text, err := documents.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		one, err := sigsyaml.YAMLToJSONStrict(text)
		if err != nil {
			return err
		}
		if string(one) != "null" {
			all = append(all, one)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "yaml_to_json:", err)
		os.Exit(1)
	}
}
