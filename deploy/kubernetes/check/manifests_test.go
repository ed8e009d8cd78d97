package check

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// scaledObject is what our manifest may use of KEDA's keda.sh/v1alpha1; the field names are those
// of its documentation.
type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		PollingInterval int32 `json:"pollingInterval"`
		CooldownPeriod  int32 `json:"cooldownPeriod"`
		Triggers        []struct {
			Type     string `json:"type"`
			Metadata struct {
				ServerAddress string `json:"serverAddress"`
				Query         string `json:"query"`
				Threshold     string `json:"threshold"`
			} `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// kustomization is what our files may use of kustomize.config.k8s.io/v1beta1.
type kustomization struct {
	metav1.TypeMeta    `json:",inline"`
	Namespace          string   `json:"namespace"`
	Resources          []string `json:"resources"`
	ConfigMapGenerator []struct {
		Name     string   `json:"name"`
		Literals []string `json:"literals"`
	} `json:"configMapGenerator"`
	Images []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
	} `json:"images"`
	Labels []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
	Patches []struct {
		Target struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"target"`
		Patch string `json:"patch"`
	} `json:"patches"`
}

// decode returns the objects in a stream of YAML documents; fields that a type does not have are
// errors.
func decode(t *testing.T, name string, data []byte) (objects []any) {
	t.Helper()
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var into any
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Namespace":
			into = new(corev1.Namespace)
		case "v1 Service":
			into = new(corev1.Service)
		case "v1 ConfigMap":
			into = new(corev1.ConfigMap)
		case "apps/v1 StatefulSet":
			into = new(appsv1.StatefulSet)
		case "apps/v1 Deployment":
			into = new(appsv1.Deployment)
		case "networking.k8s.io/v1 NetworkPolicy":
			into = new(networkingv1.NetworkPolicy)
		case "keda.sh/v1alpha1 ScaledObject":
			into = new(scaledObject)
		case "kustomize.config.k8s.io/v1beta1 Kustomization":
			into = new(kustomization)
		default:
			t.Fatalf("%s: an object of an unexpected kind: %s %s", name, kind.APIVersion, kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into, yaml.DisallowUnknownFields); err != nil {
			t.Errorf("%s: %s: %v", name, kind.Kind, err)
		}
		objects = append(objects, into)
	}
	return objects
}

// consistent checks that what the objects name of each other is there: pods of selectors, ports of
// probes and services, volumes of mounts.
func consistent(t *testing.T, objects []any) {
	t.Helper()
	pods := map[string]corev1.PodSpec{}
	add := func(name string, selector *metav1.LabelSelector, template corev1.PodTemplateSpec,
		claims ...corev1.PersistentVolumeClaim) {
		for k, v := range selector.MatchLabels {
			if template.Labels[k] != v {
				t.Errorf("%s does not select its own pods: %s=%s", name, k, v)
			}
		}
		spec := template.Spec
		for _, c := range claims {
			spec.Volumes = append(spec.Volumes, corev1.Volume{Name: c.Name})
		}
		pods[template.Labels["app.kubernetes.io/component"]] = spec
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			add(o.Name, o.Spec.Selector, o.Spec.Template, o.Spec.VolumeClaimTemplates...)
			if *o.Spec.Replicas != 1 {
				t.Errorf("%d masters for one store", *o.Spec.Replicas)
			}
		case *appsv1.Deployment:
			add(o.Name, o.Spec.Selector, o.Spec.Template)
		}
	}
	if len(pods) != 2 {
		t.Fatalf("%d kinds of pods instead of 2", len(pods))
	}
	ports := func(component string) (names []string) {
		for _, p := range pods[component].Containers[0].Ports {
			names = append(names, p.Name)
		}
		return names
	}
	for component, pod := range pods {
		c := pod.Containers[0]
		for _, m := range c.VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("%s mounts %s, which is not there", component, m.Name)
			}
		}
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet != nil && !slices.Contains(ports(component), probe.HTTPGet.Port.StrVal) {
				t.Errorf("%s: no probe, or one of a port that is not there", component)
			}
		}
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			for _, p := range o.Spec.Ports {
				if !slices.Contains(ports(o.Spec.Selector["app.kubernetes.io/component"]), p.TargetPort.StrVal) {
					t.Errorf("service %s: no port %s", o.Name, p.TargetPort.StrVal)
				}
			}
		case *scaledObject:
			if !slices.ContainsFunc(objects, func(other any) bool {
				d, ok := other.(*appsv1.Deployment)
				return ok && d.Name == o.Spec.ScaleTargetRef.Name
			}) {
				t.Errorf("%s scales %s, which is not there", o.Name, o.Spec.ScaleTargetRef.Name)
			}
		}
	}
}

// TestManifests decodes each file as it is written.
func TestManifests(t *testing.T) {
	for _, folder := range []string{"base", "keda"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.yaml"))
		if err != nil || len(files) < 2 {
			t.Fatalf("%d files in %s: %v", len(files), folder, err)
		}
		var objects []any
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list := decode(t, file, data)
			if k, ok := list[0].(*kustomization); ok {
				for _, r := range k.Resources {
					if _, err := os.Stat(filepath.Join("..", folder, r)); err != nil {
						t.Errorf("%s: %v", file, err)
					}
				}
			}
			objects = append(objects, list...)
		}
		if folder == "base" {
			consistent(t, objects)
		}
	}
}

// TestBuilt decodes what kustomize makes of the folders. It is the library of the program of that
// name, so no machine lacks it.
func TestBuilt(t *testing.T) {
	for folder, want := range map[string]int{"base": 6, "keda": 7} {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
			filepath.Join("..", folder))
		if err != nil {
			t.Errorf("build %s: %v", folder, err)
			continue
		}
		out, err := built.AsYaml()
		if err != nil {
			t.Errorf("write %s: %v", folder, err)
			continue
		}
		objects := decode(t, folder, out)
		if len(objects) != want {
			t.Errorf("%s: %d objects instead of %d", folder, len(objects), want)
		}
		consistent(t, objects)
		for _, o := range objects {
			if d, ok := o.(*appsv1.Deployment); ok {
				if (d.Spec.Replicas == nil) != (folder == "keda") {
					t.Errorf("%s: who says how many workers there are? replicas %v", folder, d.Spec.Replicas)
				}
				if image := d.Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, "amazonsfarm:") {
					t.Errorf("%s: image %s", folder, image)
				}
			}
		}
	}
}
