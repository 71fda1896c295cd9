import { Type } from 'typebox';
import { type Endpoint, problem } from './endpoint.js';

const Live = Type.Object({ status: Type.Literal('live', { description: 'Always `live`.' }) });
const Ready = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('read-only')], {
    description: '`ready`, or `read-only` while the database takes no writes.',
  }),
});

const isLive: Endpoint = {
  method: 'GET',
  path: '/health/live',
  operationId: 'isLive',
  tag: 'Health',
  summary: 'Is the process alive?',
  description: 'For a supervisor, which restarts a process that does not respond.',
  parameters: [],
  responses: {
    200: {
      description: 'It is.',
      headers: [],
      schema: Live,
      examples: { live: { summary: 'Alive', value: { status: 'live' } } },
    },
  },
};

const isReady: Endpoint = {
  method: 'GET',
  path: '/health/ready',
  operationId: 'isReady',
  tag: 'Health',
  summary: 'Should requests be sent here?',
  description:
    'For a load balancer. Also checks whether the database can be written to, or at least read from a replica.',
  parameters: [],
  responses: {
    200: {
      description:
        'Yes. `read-only`: the database takes no writes, which get 503, and requests that only read come from a replica.',
      headers: [],
      schema: Ready,
      examples: {
        ready: { summary: 'Ready', value: { status: 'ready' } },
        readsOnly: { summary: 'Only a replica responds', value: { status: 'read-only' } },
      },
    },
    503: problem('Not at the moment.', {
      starting: ['It is starting', 'Not ready: starting'],
      draining: ['It is shutting down', 'Not ready: draining'],
      noResponse: ['The database does not respond', 'Not ready: no response from the database'],
      readOnly: ['The database refuses to write', 'Not ready: the database is read-only'],
      diskFull: ['The database has no space left', 'Not ready: the disk of the database is full'],
    }),
  },
};

export const healthEndpoints: readonly Endpoint[] = [isLive, isReady];
