/** What the service takes beyond SHUTDOWN_TIMEOUT_MS to dispose everything. */
export const DISPOSE_SECONDS = 5;

/** @typedef {import('./kubernetes.mjs').Manifest} Manifest */

/**
 * What no schema can know: whether the manifests fit together, and fit the service.
 * @param {readonly Manifest[]} manifests
 */
export function problemsInDesign(manifests) {
  const ofKind = (/** @type {string} */ kind) => manifests.filter(({ content }) => content.kind === kind);
  return ofKind('Deployment').flatMap(({ file, content: { spec } }) => {
    const pod = spec.template.spec;
    const labels = spec.template.metadata.labels;
    const settings = Object.assign({}, ...ofKind('ConfigMap').map(({ content }) => content.data));
    const [container] = pod.containers;
    const policies = ofKind('NetworkPolicy').filter(({ content }) =>
      isSubset(content.spec.podSelector.matchLabels, labels),
    );
    const problems = [
      ...problemsInConnections(spec, policies, settings),
      ...problemsInTime(pod, container, settings),
      ...problemsInSafety(pod, container),
      ...selectors(spec, ofKind('Service'), ofKind('PodDisruptionBudget'))
        .filter(([, selected]) => !isSubset(selected, labels))
        .map(([who]) => `${who} selects labels that the Pods do not have`),
      ...problemsInProbes(container),
      ...unless(settings.DATABASE_URL === undefined, 'DATABASE_URL is a secret: not in the ConfigMap'),
    ];
    return problems.map((problem) => `${file}: ${problem}`);
  });
}

/** @param {any} pod @param {any} container @param {Record<string, string>} settings */
function problemsInTime(pod, container, settings) {
  const preStop = Number(container.lifecycle?.preStop?.exec?.command?.[1]);
  const shutdown = Number(settings['SHUTDOWN_TIMEOUT_MS']) / 1000;
  const { periodSeconds, failureThreshold } = container.startupProbe ?? {};
  const { readinessProbe } = container;
  const untilNotReady = readinessProbe?.periodSeconds * readinessProbe?.failureThreshold;
  return [
    ...unless(
      pod.terminationGracePeriodSeconds >= preStop + shutdown + DISPOSE_SECONDS,
      'kills the service before it could shut down: terminationGracePeriodSeconds from preStop, SHUTDOWN_TIMEOUT_MS and 5 s on',
    ),
    ...unless(
      preStop > untilNotReady,
      'preStop is to be longer than readinessProbe needs to see that a Pod is not ready',
    ),
    ...unless(
      periodSeconds * failureThreshold > Number(settings['START_TIMEOUT_MS']) / 1000,
      'startupProbe kills the service before START_TIMEOUT_MS',
    ),
  ];
}

/** @param {any} pod @param {any} container */
function problemsInSafety(pod, container) {
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext ?? {};
  return [
    ...unless(pod.securityContext?.runAsNonRoot === true, 'may run as root: runAsNonRoot'),
    ...unless(allowPrivilegeEscalation === false, 'may gain privileges: allowPrivilegeEscalation: false'),
    ...unless(readOnlyRootFilesystem === true, 'may write into its image: readOnlyRootFilesystem'),
    ...unless(capabilities?.drop?.includes('ALL'), 'keeps capabilities: drop ALL'),
    ...unless(
      pod.securityContext?.seccompProfile?.type === 'RuntimeDefault',
      'may call whatever the kernel has: seccompProfile RuntimeDefault',
    ),
    ...unless(
      pod.automountServiceAccountToken === false,
      'gets a token of the cluster that it does not need: automountServiceAccountToken: false',
    ),
    ...['memory', 'ephemeral-storage'].flatMap((name) =>
      unless(container.resources?.limits?.[name] !== undefined, `has no limit of its ${name}`),
    ),
  ];
}

/** PostgreSQL accepts 100 unless it is configured, and keeps 3 of them for its administrator. */
const CONNECTIONS_OF_POSTGRES = 97;

/** @param {any} deployment @param {readonly Manifest[]} policies @param {Record<string, string>} settings */
function problemsInConnections({ replicas, strategy }, policies, settings) {
  const pods = replicas + Number(strategy.rollingUpdate.maxSurge);
  const types = policies.flatMap(({ content }) => content.spec.policyTypes);
  const open = policies.flatMap(({ content }) => [...(content.spec.ingress ?? []), ...(content.spec.egress ?? [])]);
  return [
    ...unless(
      pods * Number(settings['DATABASE_POOL_SIZE']) <= CONNECTIONS_OF_POSTGRES,
      'opens more connections than PostgreSQL accepts: Pods, with those of a rollout, times DATABASE_POOL_SIZE',
    ),
    ...unless(policies.length > 0, 'no NetworkPolicy selects its Pods'),
    ...['Ingress', 'Egress'].flatMap((type) =>
      unless(policies.length === 0 || types.includes(type), `no NetworkPolicy limits its ${type}`),
    ),
    ...unless(
      open.every(({ ports }) => ports?.length > 0),
      'a NetworkPolicy allows every port: name those that are used',
    ),
  ];
}

/** @param {any} container */
function problemsInProbes({ ports, startupProbe, livenessProbe, readinessProbe }) {
  const names = ports.map((/** @type {{ name: string }} */ { name }) => name);
  const expected = { startupProbe: '/health/live', livenessProbe: '/health/live', readinessProbe: '/health/ready' };
  const probes = { startupProbe, livenessProbe, readinessProbe };
  return Object.entries(expected).flatMap(([name, path]) => {
    const request = probes[/** @type {keyof typeof probes} */ (name)]?.httpGet;
    return [
      ...unless(request?.path === path, `${name} is to ask ${path}`),
      ...unless(names.includes(request?.port), `${name} asks a port that no name has`),
    ];
  });
}

/**
 * @param {any} deployment
 * @param {readonly Manifest[]} services
 * @param {readonly Manifest[]} budgets
 * @returns {[string, Record<string, string>][]} who selects, and which labels
 */
function selectors(deployment, services, budgets) {
  return [
    ['the Deployment', deployment.selector.matchLabels],
    ...services.map(({ file, content }) => /** @type {[string, any]} */ ([file, content.spec.selector])),
    ...budgets.map(({ file, content }) => /** @type {[string, any]} */ ([file, content.spec.selector.matchLabels])),
  ];
}

/** @param {Record<string, string>} part @param {Record<string, string>} whole */
function isSubset(part, whole) {
  return Object.entries(part).every(([name, value]) => whole[name] === value);
}

/** @param {boolean} holds @param {string} problem */
function unless(holds, problem) {
  return holds ? [] : [problem];
}
