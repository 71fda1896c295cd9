import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const numberIn = (path: string, pattern: RegExp): number => Number(pattern.exec(read(path))?.[1]);
const manifests = readdirSync(join(root, 'deploy/kubernetes'))
  .filter((name) => name !== 'kustomization.yaml')
  .flatMap((name) => parseAllDocuments(read(`deploy/kubernetes/${name}`)).map((each) => each.toJS()));
const ofKind = (kind: string) => manifests.find((manifest) => manifest.kind === kind);

/** The time that the service takes beyond SHUTDOWN_TIMEOUT_MS to dispose everything. */
const DISPOSE_SECONDS = 5;
/** PostgreSQL accepts 100 unless it is configured, and keeps 3 of them for its administrator. */
const CONNECTIONS_OF_POSTGRES = 97;

describe('the manifests of Kubernetes', () => {
  const { spec } = ofKind('Deployment');
  const settings = ofKind('ConfigMap').data;
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const preStop = Number(container.lifecycle.preStop.exec.command[1]);
  const { startupProbe, livenessProbe, readinessProbe } = container;

  it('let the service shut down before it is killed, after load balancers know that it stops', () => {
    const shutdown = Number(settings.SHUTDOWN_TIMEOUT_MS) / 1000;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + shutdown + DISPOSE_SECONDS);
    expect(preStop).toBeGreaterThan(readinessProbe.periodSeconds * readinessProbe.failureThreshold);
  });

  it('let the service start, and ask the addresses that it has', () => {
    expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThan(
      Number(settings.START_TIMEOUT_MS) / 1000,
    );
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual([
      { path: '/health/live', port: container.ports[0].name },
      { path: '/health/live', port: container.ports[0].name },
      { path: '/health/ready', port: container.ports[0].name },
    ]);
  });

  it('open no more connections than PostgreSQL accepts, those of a rolling restart included', () => {
    const pods = spec.replicas + spec.strategy.rollingUpdate.maxSurge;
    expect(pods * Number(settings.DATABASE_POOL_SIZE)).toBeLessThanOrEqual(CONNECTIONS_OF_POSTGRES);
  });

  it('are all in the kustomization', () => {
    const { resources }: { resources: string[] } = parse(read('deploy/kubernetes/kustomization.yaml'));
    expect(['kustomization.yaml', ...resources].toSorted()).toEqual(
      readdirSync(join(root, 'deploy/kubernetes')).toSorted(),
    );
  });
});

describe('compose.yaml and the Dockerfiles', () => {
  const dockerfiles = readdirSync(join(root, 'deploy')).filter((name) => name.endsWith('Dockerfile'));

  it('pin every image: a tag can be moved to another one', () => {
    const named = [
      ...dockerfiles.flatMap((name) => [...read(`deploy/${name}`).matchAll(/^FROM (\S+)/gm)]),
      // Images that are built here have no digest yet.
      ...read('deploy/compose.yaml').matchAll(/^ *image: (?!ambit-)(\S+)/gm),
    ].map(([, image = '']) => image);
    expect(named.filter((image) => !/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
  });

  it.each(dockerfiles)('%s does not run as root, and gets SIGTERM itself', (name) => {
    expect(read(`deploy/${name}`)).toMatch(/^USER (?!root|0\b)/m);
    expect(read(`deploy/${name}`)).toMatch(/^CMD \["/m);
  });

  it('let the service shut down, and accept the connections that the parts open to each other', () => {
    const compose = 'deploy/compose.yaml';
    expect(numberIn(compose, /^x-service:[^]*?stop_grace_period: (\d+)s$/m)).toBeGreaterThan(
      numberIn(compose, /SHUTDOWN_TIMEOUT_MS: '(\d+)'/) / 1000 + DISPOSE_SECONDS,
    );
    const total = numberIn('deploy/haproxy.cfg', /^ {2}maxconn (\d+)$/m);
    expect(numberIn('deploy/haproxy.cfg', /reject if \{ sc0_conn_cur gt (\d+) \}/)).toBeLessThan(total);
    expect(numberIn('deploy/haproxy.cfg', /^ {2}default-server maxconn (\d+)/m)).toBeLessThan(total);
    const instances = read(compose).match(/^ {2}service-\d+:/gm)?.length ?? 0;
    expect(instances * numberIn(compose, /DATABASE_POOL_SIZE: '(\d+)'/)).toBeLessThan(
      numberIn('deploy/pgbouncer.ini', /^max_client_conn = (\d+)$/m),
    );
  });
});

describe('the workflows', () => {
  const workflows = readdirSync(join(root, '.github/workflows')).map((name) => read(`.github/workflows/${name}`));

  it('pin every action to a commit, with its version for readers', () => {
    const actions = workflows.flatMap((text) => Array.from(text.matchAll(/^ *(?:- )?uses: *(.*)$/gm), ([, to]) => to));
    expect(actions.filter((to = '') => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(to))).toEqual([]);
  });

  it('publish in a job that has no other right and runs no code of this repository or of a package', () => {
    const { permissions, jobs } = parse(read('.github/workflows/release.yml'));
    const all: { permissions: Record<string, string> }[] = Object.values(jobs);
    expect(permissions).toEqual({});
    expect(jobs.publish.permissions).toEqual({ 'id-token': 'write' });
    expect(all.filter((job) => job.permissions['id-token'])).toEqual([jobs.publish]);
    const run: string = jobs.publish.steps.map((step: { run?: string }) => step.run ?? '').join('\n');
    expect(JSON.stringify(jobs.publish)).not.toContain('checkout@');
    expect(run).not.toMatch(/\b(npm (ci|i|install|test|run|exec)|npx|node|bash|sh) /);
    expect(run).toMatch(/npm publish .*--ignore-scripts/);
    expect(jobs.pack.steps.map((step: { run?: string }) => step.run)).toContain('npm ci --ignore-scripts');
  });
});
