// Preloaded into a service: the disposal of its request scopes never resolves.
import { subscribe } from 'node:diagnostics_channel';

subscribe('ambit:scope:opened', ({ scope }) => {
  if (scope.tags.includes('request')) scope.defer(() => new Promise(() => undefined));
});
