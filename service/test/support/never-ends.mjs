// Preloaded into a service: its request scopes never end.
import { subscribe } from 'node:diagnostics_channel';

subscribe('ambit:scope:opened', ({ scope }) => {
  if (scope.tags.includes('request')) scope.defer(() => new Promise(() => undefined));
});
