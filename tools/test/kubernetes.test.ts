import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { problemsInDesign } from '../deploy/kubernetes-design.mjs';
import { problemsInManifests, readManifests } from '../deploy/kubernetes.mjs';

type Files = Record<string, string>;

const FOLDER = resolve(import.meta.dirname, '../../deploy/kubernetes');
const SHIPPED: Files = Object.fromEntries(
  readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]),
);

/** The manifests as shipped, with one text replaced. */
function changed(file: string, from: string, to: string): Files {
  const text = SHIPPED[file] ?? '';
  if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
  return { ...SHIPPED, [file]: text.replace(from, to) };
}

it('finds nothing wrong with the manifests as shipped', async () => {
  expect(await problemsInManifests(SHIPPED)).toEqual([]);
});

it('finds fields that Kubernetes does not know, however deep', async () => {
  const files = changed('deployment.yaml', 'timeoutSeconds: 3', 'timeoutSecond: 3');
  const service = changed('service.yaml', 'targetPort', 'targtPort')['service.yaml'] ?? '';
  expect(await problemsInManifests({ ...files, 'service.yaml': service })).toEqual([
    expect.stringMatching(/^deployment\.yaml: .*'timeoutSecond'/),
    expect.stringMatching(/^service\.yaml: .*'targtPort'/),
  ]);
});

it('finds a file that the kustomization does not name', async () => {
  expect(await problemsInManifests(changed('kustomization.yaml', '  - service.yaml\n', ''))).toEqual([
    'kustomization.yaml does not name service.yaml',
  ]);
});

it.each([
  ['a field that is missing', 'selector:', 'select:', 'required property selector'],
  ['a value of another type', 'replicas: 2', 'replicas: two', 'replicas must be integer'],
  ['an invalid quantity', 'cpu: 500m', 'cpu: 500mm', 'match format "quantity"'],
  ['an unknown kind', 'kind: Deployment', 'kind: Deplyment', 'no Deplyment in apps/v1'],
  ['a field that is there twice', 'replicas: 2', 'replicas: 2\n  replicas: 3', 'Map keys must be unique'],
])('finds %s', async (_, from, to, problem) => {
  const { problems } = await readManifests(changed('deployment.yaml', from, to));
  expect(problems).toEqual([expect.stringContaining(problem)]);
});

it.each([
  ['labels that no Pod has', 'service.yaml', 'name: ambit-service\n  ports', 'name: ambit\n  ports', 'selects labels'],
  ['a grace period that is too short', 'deployment.yaml', 'PeriodSeconds: 25', 'PeriodSeconds: 19', 'could shut down'],
  ['a preStop that is too short', 'deployment.yaml', "'5'", "'1'", 'preStop is to be longer'],
  ['a startup probe that kills early', 'deployment.yaml', 'Threshold: 60', 'Threshold: 20', 'before START_TIMEOUT_MS'],
  [
    'a probe of another address',
    'deployment.yaml',
    '/health/ready',
    '/ready',
    'readinessProbe is to ask /health/ready',
  ],
  ['a file system that can be written', 'deployment.yaml', 'Filesystem: true', 'Filesystem: false', 'readOnlyRoot'],
  ['a container that may be root', 'deployment.yaml', 'NonRoot: true', 'NonRoot: false', 'may run as root'],
  [
    'a token of the cluster',
    'deployment.yaml',
    'automountServiceAccountToken: false',
    'automountServiceAccountToken: true',
    'gets a token',
  ],
  ['system calls without a filter', 'deployment.yaml', 'type: RuntimeDefault', 'type: Unconfined', 'seccompProfile'],
  [
    'a log without a limit',
    'deployment.yaml',
    'ephemeral-storage: 256Mi',
    'cpu: 1',
    'no limit of its ephemeral-storage',
  ],
  [
    'more connections than PostgreSQL has',
    'config.yaml',
    "SIZE: '10'",
    "SIZE: '33'",
    'more connections than PostgreSQL',
  ],
  ['Pods that reach every host', 'network-policy.yaml', '    - Egress\n', '', 'no NetworkPolicy limits its Egress'],
  [
    'a policy for other Pods',
    'network-policy.yaml',
    'name: ambit-service\n  policyTypes',
    'name: ambit\n  policyTypes',
    'no NetworkPolicy selects',
  ],
  [
    'a policy of every port',
    'network-policy.yaml',
    '      ports:\n        - protocol: TCP\n          port: http\n',
    '',
    'every port',
  ],
  ['a secret in the ConfigMap', 'config.yaml', '\ndata:', '\ndata:\n  DATABASE_URL: postgres://a:b@c/d', 'is a secret'],
])('finds %s', async (_, file, from, to, problem) => {
  const { manifests } = await readManifests(changed(file, from, to));
  expect(problemsInDesign(manifests)).toEqual([expect.stringContaining(problem)]);
});
