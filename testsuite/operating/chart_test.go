package operating

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write golden files")

const (
	root  = "../.."
	chart = root + "/docs/examples/helm/oneiros"
)

// tool is the path of a program that make operating builds; without it the test is skipped.
func tool(t *testing.T, name string) string {
	t.Helper()
	path := mustAbs(t, filepath.Join(root, "bin", "tools", name))
	_, err := os.Stat(path)
	if err != nil {
		t.Skipf("%s is not built; make operating builds it and runs this test", path)
	}
	return path
}

// run runs a program and returns what it prints.
func run(t *testing.T, program string, args ...string) (output string, err error) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(),
		"KUBECONFIG=/dev/null")
	answer, err := cmd.CombinedOutput()
	return string(answer), err
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	require.NoError(t, err)
	return whole
}

// valueSets are the values with which the chart is rendered, by name.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	sets := map[string]string{}
	for _, file := range files {
		sets[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = file
	}
	return sets
}

// render renders the chart; a failure ends the test.
func render(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, tool(t, "helm"), append([]string{
		"template", "demo", chart, "--namespace", "agents", "--kube-version", "1.37.0",
	}, args...)...)
	require.NoError(t, err, out)
	return out
}

// object is a manifest.
type object = map[string]any

func objects(t *testing.T, rendered string) (list []object) {
	t.Helper()
	for _, text := range regexp.MustCompile(`(?m)^---\n`).Split(rendered, -1) {
		var o object
		require.NoError(t, yaml.Unmarshal([]byte(text), &o))
		if len(o) > 0 {
			list = append(list, o)
		}
	}
	return list
}

// at finds what lies at a path of fields; nil where there is nothing.
func at(o any, path ...string) any {
	for _, name := range path {
		fields, ok := o.(object)
		if !ok {
			return nil
		}
		o = fields[name]
	}
	return o
}

// pod returns the labels and the spec of the pods that an object makes; nil when it makes none.
func pod(o object) (labels, spec object) {
	switch o["kind"] {
	case "Pod":
		labels, _ = at(o, "metadata", "labels").(object)
		spec, _ = o["spec"].(object)
	case "Deployment":
		labels, _ = at(o, "spec", "template", "metadata", "labels").(object)
		spec, _ = at(o, "spec", "template", "spec").(object)
	}
	return labels, spec
}

func TestTheChartRendersAsBefore(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := render(t, "--values", values)
			file := filepath.Join("testdata", "chart", name+".golden.yaml")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "run go -C testsuite/operating test -run Chart -update .")
		})
	}
}

func TestTheChartIsWithoutFaultToHelm(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets(t) {
		out, err := run(t, tool(t, "helm"), "lint", "--strict", chart, "--values", values)
		require.NoError(t, err, "%s: %s", name, out)
	}
}

func TestTheManifestsFollowKubernetesSchemas(t *testing.T) {
	t.Parallel()
	conform := tool(t, "kubeconform")
	check := func(manifests string) (string, error) {
		file := filepath.Join(t.TempDir(), "manifests.yaml")
		require.NoError(t, os.WriteFile(file, []byte(manifests), 0o600))
		return run(t, conform, "-strict", "-summary", "-schema-location",
			"testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json", file)
	}
	for name, values := range valueSets(t) {
		out, err := check(render(t, "--values", values))
		require.NoError(t, err, "%s: %s", name, out)
		require.Contains(t, out, "Invalid: 0, Errors: 0, Skipped: 0", name)
	}
	good := render(t, "--values", chart+"/ci/full-values.yaml")
	for part, wrong := range map[string]string{
		"readOnlyRootFilesystem:": "readOnlyRoot:",
		"maxSurge: 1":             "maxSurge: [1]",
		"averageUtilization: 60":  "averageUtilization: lots",
		"targetLabel: job":        "target: job",
		"policyTypes: [Egress]":   "policyTypes: Egress",
	} {
		require.Contains(t, good, part)
		out, err := check(strings.Replace(good, part, wrong, 1))
		require.Error(t, err, "%s: %s", wrong, out)
	}
}

// yamlBlock is a block of YAML on a page.
var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func TestTheValuesOnThePageAreRight(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(root + "/docs/kubernetes.md")
	require.NoError(t, err)
	blocks := yamlBlock.FindAllSubmatch(page, -1)
	require.Len(t, blocks, 2)
	var args []string
	for _, b := range blocks { // the second builds on the first
		file := filepath.Join(t.TempDir(), "values.yaml")
		require.NoError(t, os.WriteFile(file, b[1], 0o600))
		args = append(args, "--values", file)
		rendered := render(t, args...)
		require.Contains(t, rendered, "/run/secrets/oneiros/providers/openai")
	}
	require.Contains(t, render(t, args...), "registry.example/oneiros:v0.3.0")
}

func TestBadValuesAreRefusedByName(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"image.repository=":                                              "/image/repository",
		"image.digest=0f0f":                                              "/image/digest",
		"config.temporal.address=temporal":                               "/config/temporal/address",
		"config.store.url=oneiros.db":                                    "/config/store/url",
		"config.store.url=redis://u:pw@redis:6379":                       "config.store.url holds a password",
		"config.serve.listen=:80":                                        "config.serve.listen is set by the chart",
		"config.store.password_file=/x":                                  "use secrets.redisPassword",
		"config.worker.build_id=7":                                       "use worker.versioning.buildID",
		"worker.replicas=-1":                                             "/worker/replicas",
		"worker.drainSeconds=0":                                          "/worker/drainSeconds",
		"worker.versioning.draining[0].buildID=a":                        "/worker/versioning/draining/0",
		"server.service.type=Public":                                     "/server/service/type",
		"secrets.redisPasswrd.name=redis":                                "redisPasswrd",
		"secrets.sealKeys.name=Seal Keys":                                "/secrets/sealKeys/name",
		"secrets.providers.openai.name=openai":                           "/secrets/providers/openai",
		"ingress.enabled=true":                                           "/ingress/hosts",
		"monitoring.serviceMonitor.interval=often":                       "/monitoring/serviceMonitor/interval",
		"topologySpread.whenUnsatisfiable=Never":                         "/topologySpread/whenUnsatisfiable",
		"networkPolicy.redis.ports[0]=70000":                             "/networkPolicy/redis/ports/0",
		"server.autoscaling.enabled=true,server.autoscaling.min=20":      "server.autoscaling.min is 20",
		"secrets.providers.openai.name=a,secrets.providers.openai.key=b": "config.providers.openai, which is not there",
		"worker.versioning.draining[0].buildID=a,worker.versioning.draining[0].replicas=1":                                            "needs worker.versioning.deployment",
		"worker.versioning.deployment=o,image.tag=a,worker.versioning.draining[0].buildID=a,worker.versioning.draining[0].replicas=1": "which is the current one",
	} {
		out, err := run(t, tool(t, "helm"), "template", "demo", chart, "--values", chart+"/ci/minimal-values.yaml",
			"--set", set)
		require.Error(t, err, set)
		require.Contains(t, out, want, set)
		require.NotContains(t, out, "u:pw@", "a password must not be repeated")
	}
	out, err := run(t, tool(t, "helm"), "template", "demo", chart, "--values", chart+"/ci/versioned-values.yaml", "--set",
		"worker.versioning.draining[0].buildID=a,worker.versioning.draining[0].replicas=1,"+
			"worker.versioning.draining[1].buildID=a,worker.versioning.draining[1].replicas=1")
	require.Error(t, err)
	require.Contains(t, out, "names the build a twice")
	out, err = run(t, tool(t, "helm"), "template", "demo", chart)
	require.Error(t, err, "three values have no default")
	for _, path := range []string{"/image/repository", "/config/temporal/address", "/config/store/url"} {
		require.Contains(t, out, path)
	}
}

func TestPodsHaveNoRightsTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets(t) {
		seen := 0
		for _, o := range objects(t, render(t, "--values", values)) {
			require.NotEqual(t, "Secret", o["kind"], "secrets are named, never made")
			_, spec := pod(o)
			if spec == nil {
				continue
			}
			seen++
			where := name + ": " + at(o, "metadata", "name").(string)
			require.Equal(t, false, spec["automountServiceAccountToken"], where)
			require.Equal(t, false, spec["enableServiceLinks"], where)
			require.Equal(t, true, at(spec, "securityContext", "runAsNonRoot"), where)
			require.EqualValues(t, 65532, at(spec, "securityContext", "runAsUser"), where)
			require.Equal(t, "RuntimeDefault", at(spec, "securityContext", "seccompProfile", "type"), where)
			for _, field := range []string{"hostNetwork", "hostPID", "hostIPC", "initContainers"} {
				require.Nil(t, spec[field], where)
			}
			for _, c := range spec["containers"].([]any) {
				require.Equal(t, object{
					"allowPrivilegeEscalation": false,
					"readOnlyRootFilesystem":   true,
					"capabilities":             object{"drop": []any{"ALL"}},
				}, at(c, "securityContext"), where)
				require.NotNil(t, at(c, "resources", "limits", "memory"), where)
			}
			for _, v := range spec["volumes"].([]any) {
				require.Nil(t, at(v, "hostPath"), where)
			}
		}
		require.GreaterOrEqual(t, seen, 3, name)
	}
}

// What selects pods must select some, and a probe must ask a port that is there.
func TestSelectorsAndPortsFitThePods(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets(t) {
		all := objects(t, render(t, "--values", values))
		var pods []object
		ports := map[string]bool{}
		for _, o := range all {
			labels, spec := pod(o)
			if spec == nil || o["kind"] == "Pod" {
				continue
			}
			pods = append(pods, labels)
			for _, c := range spec["containers"].([]any) {
				for _, p := range at(c, "ports").([]any) {
					ports[at(p, "name").(string)] = true
				}
				for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
					require.True(t, ports[at(c, probe, "httpGet", "port").(string)], "%s: %s", name, probe)
				}
			}
		}
		for _, o := range all {
			where := name + ": " + o["kind"].(string) + " " + at(o, "metadata", "name").(string)
			selector := at(o, "spec", "selector", "matchLabels")
			switch o["kind"] {
			case "Service":
				selector = at(o, "spec", "selector")
				for _, p := range at(o, "spec", "ports").([]any) {
					require.True(t, ports[at(p, "targetPort").(string)], where)
				}
			case "NetworkPolicy":
				selector = at(o, "spec", "podSelector", "matchLabels")
			case "Deployment", "PodDisruptionBudget":
			default:
				continue
			}
			require.Positive(t, selected(pods, selector.(object)), where)
		}
	}
}

// selected counts the pods that have all of these labels.
func selected(pods []object, labels object) (n int) {
	for _, p := range pods {
		fits := 1
		for key, value := range labels {
			if p[key] != value {
				fits = 0
			}
		}
		n += fits
	}
	return n
}

// A worker may drain, and a server may answer to the end, before the pod is killed.
func TestPodsHaveTimeToEnd(t *testing.T) {
	t.Parallel()
	args := []string{
		"--values", chart +
			"/ci/full-values.yaml", "--set", "worker.drainSeconds=300,server.graceSeconds=200,server.leaveSeconds=9",
	}
	grace := map[string]float64{}
	for _, o := range objects(t, render(t, args...)) {
		if o["kind"] == "Deployment" {
			grace[at(o, "metadata", "name").(string)] = at(o, "spec", "template", "spec",
				"terminationGracePeriodSeconds").(float64)
		}
	}
	require.Equal(t, map[string]float64{"dreams-worker": 325, "dreams-server": 219}, grace)
}

func TestADrainingBuildKeepsItsWorkers(t *testing.T) {
	t.Parallel()
	builds := map[string]string{}
	for _, o := range objects(t, render(t, "--values", chart+"/ci/versioned-values.yaml")) {
		if o["kind"] != "Deployment" || at(o, "metadata", "labels", "app.kubernetes.io/component") != "worker" {
			continue
		}
		container := at(o, "spec", "template", "spec", "containers").([]any)[0]
		for _, v := range at(container, "env").([]any) {
			if at(v, "name") == "ONEIROS_WORKER_BUILD_ID" {
				builds[at(v, "value").(string)] = at(container, "image").(string)
			}
		}
	}
	require.Equal(t, map[string]string{
		"v0.3.1": "registry.example/oneiros:v0.3.1",
		"v0.3.0": "registry.example/oneiros:v0.3.0",
	}, builds)
}

// Build ids that begin alike, or differ in what a name cannot hold, have Deployments of their own.
func TestEachBuildHasADeploymentOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, ids := range [][2]string{
		{"2026-11-23-main-1", "2026-11-23-main-2"},
		{"v1.0", "V1_0"},
		{"b1", "b1..."},
		{strings.Repeat("a", 90), strings.Repeat("a", 91)},
	} {
		names, labels := map[any]bool{}, map[any]bool{}
		args := []string{
			"--values", chart + "/ci/versioned-values.yaml",
			"--set", "fullnameOverride=" + strings.Repeat("n", 60),
		}
		args = append(args, "--set", "worker.versioning.buildID="+ids[0]+",worker.versioning.draining[0].buildID="+ids[1]+
			",worker.versioning.draining[0].replicas=1")
		for _, o := range objects(t, render(t, args...)) {
			if at(o, "metadata", "labels", "app.kubernetes.io/component") == "worker" && o["kind"] == "Deployment" {
				name := at(o, "metadata", "name").(string)
				require.LessOrEqual(t, len(name), 63, name)
				require.Regexp(t, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, name)
				names[name] = true
				labels[at(o, "spec", "selector", "matchLabels", "oneiros.build")] = true
			}
		}
		require.Len(t, names, 2, ids)
		require.Len(t, labels, 2, ids)
	}
}

func TestWebhooksAreRefusedWithoutTheirKey(t *testing.T) {
	t.Parallel()
	const refused = "webhook_key_file: /etc/oneiros/secrets.webhookKey-is-not-set"
	require.Contains(t, configOf(t, chart+"/ci/minimal-values.yaml"), refused)
	full := configOf(t, chart+"/ci/full-values.yaml")
	require.NotContains(t, full, refused)
	require.Contains(t, full, "webhook_key_file: /run/secrets/oneiros/webhook-key")
}

// The pod that restores has what a worker has, and no Service, Deployment or policy takes it for a worker or a server.
func TestTheRestoringPodIsAWorkerWithAnotherCommand(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets(t) {
		rendered := render(t, "--values", values, "--set", "restore=true", "--show-only", "templates/restore.yaml")
		pods := objects(t, rendered)
		require.Len(t, pods, 1, name)
		labels, spec := pod(pods[0])
		container := spec["containers"].([]any)[0]
		require.Equal(t, []any{"store", "import", "-"}, at(container, "args"), name)
		require.Equal(t, true, at(container, "stdin"), name)
		for _, o := range objects(t, render(t, "--values", values)) {
			if selector, ok := at(o, "spec", "selector", "matchLabels").(object); ok {
				require.Zero(t, selected([]object{labels}, selector), name)
			}
			if o["kind"] != "Deployment" || at(o, "metadata", "labels", "app.kubernetes.io/component") != "worker" {
				continue
			}
			_, worker := pod(o)
			require.Equal(t, worker["volumes"], spec["volumes"], name)
			its := worker["containers"].([]any)[0]
			require.Equal(t, at(its, "volumeMounts"), at(container, "volumeMounts"), name)
			require.Subset(t, at(its, "env"), at(container, "env"), name)
		}
		conform := tool(t, "kubeconform")
		file := filepath.Join(t.TempDir(), "pod.yaml")
		require.NoError(t, os.WriteFile(file, []byte(rendered), 0o600))
		out, err := run(t, conform, "-strict", "-schema-location", "testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json",
			file)
		require.NoError(t, err, "%s: %s", name, out)
	}
}

// noted is a command of the notes, with the Deployment in whose pods it runs.
var noted = regexp.MustCompile(`exec deploy/(\S+) -- /usr/bin/oneiros (.*)`)

func TestTheNotesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	helm := tool(t, "helm")
	program := built(t, "./cmd/oneiros")
	for name, values := range valueSets(t) {
		out, err := run(t, helm, "install", "demo", chart, "--namespace", "agents", "--dry-run=client", "--values",
			values)
		require.NoError(t, err, "%s: %s", name, out)
		manifests, notes, found := strings.Cut(out, "\nNOTES:\n")
		require.True(t, found, name)
		commands := noted.FindAllStringSubmatch(notes, -1)
		require.Len(t, commands, 2, name)
		for _, c := range commands {
			require.Contains(t, manifests, "kind: Deployment\nmetadata:\n  name: "+c[1]+"\n", name)
			help, err := exec.Command(program, append(strings.Fields(c[2]), "--help")...).CombinedOutput()
			require.NoError(t, err, "%s: %s", c[2], help)
			require.Contains(t, string(help), "oneiros "+strings.Join(strings.Fields(c[2])[:2], " "), name)
		}
	}
}

// released is a version's heading in the changelog.
var released = regexp.MustCompile(`(?m)^## ([0-9][0-9.]*) `)

func TestTheChartIsOfTheNewestRelease(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(chart + "/Chart.yaml")
	require.NoError(t, err)
	var made struct{ AppVersion string }
	require.NoError(t, yaml.Unmarshal(body, &made))
	log, err := os.ReadFile(root + "/CHANGELOG.md")
	require.NoError(t, err)
	require.Equal(t, "v"+released.FindStringSubmatch(string(log))[1], made.AppVersion,
		"images are tagged like releases")
}

// Each value set's oneiros.yaml, with the environment of the pods and files where the secrets are mounted, is right to
// the program.
func TestTheProgramTakesTheConfiguration(t *testing.T) {
	t.Parallel()
	tool(t, "helm")
	program := built(t, "./cmd/oneiros")
	for name, values := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range objects(t, render(t, "--values", values)) {
				if o["kind"] != "Deployment" {
					continue
				}
				_, spec := pod(o)
				out, err := checked(t, program, configOf(t, values), spec)
				require.NoError(t, err, out)
				require.NotContains(t, out, "warning", out)
				out, err = checked(t, program, strings.Replace(configOf(t, values), "child: never",
					"child: sometimes", 1), spec)
				require.Error(t, err)
				require.Contains(t, out, "temporal.child")
			}
		})
	}
}

// configOf is the oneiros.yaml that the chart makes of values.
func configOf(t *testing.T, values string) string {
	t.Helper()
	for _, o := range objects(t, render(t, "--values", values)) {
		if o["kind"] == "ConfigMap" {
			return at(o, "data", "oneiros.yaml").(string)
		}
	}
	t.Fatal("there is no ConfigMap")
	return ""
}

// checked runs oneiros config check as the pod would.
func checked(t *testing.T, program, settings string, spec object) (string, error) {
	t.Helper()
	const mounted = "/run/secrets/oneiros"
	dir := t.TempDir()
	for _, v := range spec["volumes"].([]any) {
		sources, _ := at(v, "projected", "sources").([]any)
		for _, s := range sources {
			for _, item := range at(s, "secret", "items").([]any) {
				file := filepath.Join(dir, at(item, "path").(string))
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte("a secret of more than sixteen bytes"), 0o440))
			}
		}
	}
	require.Equal(t, strings.Count(settings, mounted), files(t, dir), "each mounted file has a setting")
	config := filepath.Join(t.TempDir(), "oneiros.yaml")
	require.NoError(t, os.WriteFile(config, []byte(strings.ReplaceAll(settings, mounted, dir)), 0o600))
	cmd := exec.Command(program, "config", "check")
	for _, v := range at(spec["containers"].([]any)[0], "env").([]any) {
		cmd.Env = append(cmd.Env, at(v, "name").(string)+"="+at(v, "value").(string))
	}
	cmd.Env = append(cmd.Env, "HOME="+dir, "ONEIROS_CONFIG="+config, "ONEIROS_DATA_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files counts the files below a folder.
func files(t *testing.T, dir string) (n int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	}))
	return n
}
