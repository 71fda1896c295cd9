import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const FOLDER = resolve(import.meta.dirname, '../../deploy/kubernetes');

/** @typedef {ReturnType<typeof shippedSettings>} Settings */

/** What deploy/kubernetes tells Kubernetes about starting and stopping a Pod. */
export function shippedSettings() {
  const pod = read('deployment.yaml').spec.template.spec;
  const [{ lifecycle, readinessProbe }] = pod.containers;
  return {
    /** @type {Record<string, string>} */
    environment: read('config.yaml').data,
    /** @type {number} */
    graceMs: pod.terminationGracePeriodSeconds * 1000,
    preStopMs: Number(lifecycle.preStop.exec.command[1]) * 1000,
    /** @type {{ path: string, periodMs: number }} */
    readiness: { path: readinessProbe.httpGet.path, periodMs: readinessProbe.periodSeconds * 1000 },
  };
}

/** @param {string} name */
function read(name) {
  return parse(readFileSync(join(FOLDER, name), 'utf8'));
}
