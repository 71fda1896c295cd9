import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { ask } from './client.mjs';
import { Instance } from './instance.mjs';

const MANIFESTS = resolve(import.meta.dirname, '../../deploy/kubernetes/deployment.yaml');
const KILLED = 'killed';

/** @typedef {ReturnType<typeof shippedSettings>} Settings */

/** What deploy/kubernetes tells Kubernetes about starting and stopping a Pod. */
export function shippedSettings() {
  const manifests = parseAllDocuments(readFileSync(MANIFESTS, 'utf8')).map((each) => each.toJS());
  const ofKind = (/** @type {string} */ kind) => manifests.find((manifest) => manifest.kind === kind);
  const pod = ofKind('Deployment').spec.template.spec;
  const [{ lifecycle, readinessProbe }] = pod.containers;
  return {
    /** @type {Record<string, string>} */
    environment: ofKind('ConfigMap').data,
    /** @type {number} */
    graceMs: pod.terminationGracePeriodSeconds * 1000,
    preStopMs: Number(lifecycle.preStop.exec.command[1]) * 1000,
    /** @type {{ path: string, periodMs: number }} */
    readiness: { path: readinessProbe.httpGet.path, periodMs: readinessProbe.periodSeconds * 1000 },
  };
}

/** One instance, started and stopped in the order in which Kubernetes does it. */
export class Pod {
  #instance;
  #settings;

  /**
   * @param {import('../kit/options.mjs').Host} host
   * @param {Record<string, string>} env which leads to the database
   * @param {Settings} settings
   */
  constructor(host, env, settings) {
    this.#instance = new Instance(host, { ...settings.environment, ...env, DATABASE_PREPARE: 'true', METRICS: '0' });
    this.#settings = settings;
  }

  get url() {
    return this.#instance.url;
  }

  /** Resolves when the readiness probe has succeeded once. */
  async start() {
    const { path, periodMs } = this.#settings.readiness;
    await this.#instance.start();
    while (!(await isOk(`${this.url}${path}`))) await pause(periodMs);
  }

  /**
   * preStop, SIGTERM, and SIGKILL when the grace period is over.
   * @returns {Promise<number | 'killed' | null>} the exit code
   */
  async terminate() {
    const { preStopMs, graceMs } = this.#settings;
    const deadline = new AbortController();
    const killed = pause(graceMs, KILLED, { signal: deadline.signal }).then(async (outcome) => {
      await this.#instance.stop('SIGKILL');
      return /** @type {'killed'} */ (outcome);
    });
    const stopped = pause(preStopMs).then(async () => (await this.#instance.stop('SIGTERM')) ?? null);
    const outcome = await Promise.race([stopped, killed]);
    deadline.abort();
    await killed.catch(() => undefined);
    return outcome;
  }

  get faults() {
    return this.#instance.faults;
  }

  kill() {
    return this.#instance.stop('SIGKILL');
  }
}

/** @param {string} url */
function isOk(url) {
  return ask(url).then(
    ({ status }) => status === 200,
    () => false,
  );
}
