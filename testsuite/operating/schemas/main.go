// Command schemas writes the JSON schemas with which manifests are checked, from Kubernetes' own OpenAPI and from the
// resource definitions of the Prometheus operator: one file a kind, which holds all it refers to. Fields that a kind
// does not have are refused.
//
//	go run ./schemas SWAGGER.json CRD.yaml... TARGET-FOLDER
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// kinds are the kinds that our manifests use, each with its definition in Kubernetes' OpenAPI.
var kinds = map[string]string{
	"configmap-v1":                           "io.k8s.api.core.v1.ConfigMap",
	"deployment-apps-v1":                     "io.k8s.api.apps.v1.Deployment",
	"horizontalpodautoscaler-autoscaling-v2": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
	"ingress-networking-v1":                  "io.k8s.api.networking.v1.Ingress",
	"networkpolicy-networking-v1":            "io.k8s.api.networking.v1.NetworkPolicy",
	"pod-v1":                                 "io.k8s.api.core.v1.Pod",
	"poddisruptionbudget-policy-v1":          "io.k8s.api.policy.v1.PodDisruptionBudget",
	"service-v1":                             "io.k8s.api.core.v1.Service",
	"serviceaccount-v1":                      "io.k8s.api.core.v1.ServiceAccount",
}

const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"

type schema = map[string]any

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: schemas SWAGGER.json [CRD.yaml...] TARGET-FOLDER")
	}
	target := args[len(args)-1]
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := fromOpenAPI(args[0], target); err != nil {
		return err
	}
	for _, file := range args[1 : len(args)-1] {
		if err := fromDefinition(file, target); err != nil {
			return err
		}
	}
	return nil
}

func fromOpenAPI(file, target string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var api struct {
		Definitions map[string]schema `json:"definitions"`
	}
	if err := json.Unmarshal(body, &api); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	for name, kind := range kinds {
		if api.Definitions[kind] == nil {
			return fmt.Errorf("%s does not define %s", file, kind)
		}
		used := schema{}
		collect(kind, api.Definitions, used)
		root := schema{"$ref": "#/definitions/" + kind, "definitions": used}
		if err := write(target, name, root); err != nil {
			return err
		}
	}
	return nil
}

// collect puts a definition, and all that it refers to, into used.
func collect(name string, all map[string]schema, used schema) {
	if used[name] != nil {
		return
	}
	if name == quantity {
		used[name] = schema{"type": []string{"string", "number"}}
		return
	}
	used[name] = schema{}
	used[name] = strict(all[name], func(to string) { collect(to, all, used) })
}

// fromDefinition reads a CustomResourceDefinition.
func fromDefinition(file, target string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var found struct {
		Spec struct {
			Group    string
			Names    struct{ Singular string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(body, &found); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	group, _, _ := strings.Cut(found.Spec.Group, ".")
	for _, v := range found.Spec.Versions {
		name := fmt.Sprintf("%s-%s-%s", found.Spec.Names.Singular, group, v.Name)
		root := strict(v.Schema.OpenAPIV3Schema, func(string) {})
		root["properties"].(schema)["metadata"] = schema{"type": "object"}
		if err := write(target, name, root); err != nil {
			return err
		}
	}
	return nil
}

// strict returns a schema without its texts, which refuses fields that it does not name. It tells refers the
// definitions that it refers to.
func strict(s schema, refers func(name string)) schema {
	if s["x-kubernetes-int-or-string"] == true || s["format"] == "int-or-string" {
		return schema{"type": []string{"string", "integer"}}
	}
	result := schema{}
	for key, value := range s {
		switch key {
		case "type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "required":
			result[key] = value
		case "$ref":
			result[key] = value
			refers(strings.TrimPrefix(value.(string), "#/definitions/"))
		case "items", "additionalProperties":
			result[key] = value
			if inner, ok := value.(schema); ok {
				result[key] = strict(inner, refers)
			}
		case "properties":
			fields := schema{}
			for name, field := range value.(schema) {
				fields[name] = strict(field.(schema), refers)
			}
			result[key] = fields
		}
	}
	if result["properties"] != nil && result["additionalProperties"] == nil &&
		s["x-kubernetes-preserve-unknown-fields"] != true {
		result["additionalProperties"] = false
	}
	return result
}

func write(target, name string, s schema) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(target, name+".json"), append(body, '\n'), 0o644)
}
