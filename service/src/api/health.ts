import { Type } from 'typebox';
import { type Endpoint, problem } from './endpoint.js';

const Live = Type.Object({ status: Type.Literal('live', { description: 'Always `live`.' }) });
const Ready = Type.Object({ status: Type.Literal('ready', { description: 'Always `ready`.' }) });

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
  description: 'For a load balancer. Also checks whether the database can be written to.',
  parameters: [],
  responses: {
    200: {
      description: 'Yes.',
      headers: [],
      schema: Ready,
      examples: { ready: { summary: 'Ready', value: { status: 'ready' } } },
    },
    503: problem('Not at the moment.', {
      starting: ['It is starting', 'Not ready: starting'],
      draining: ['It is shutting down', 'Not ready: draining'],
      noResponse: ['The database does not respond', 'Not ready: no answer from the database'],
      readOnly: ['The database refuses to write', 'Not ready: the database is read-only'],
      diskFull: ['The database has no space left', 'Not ready: the disk of the database is full'],
    }),
  },
};

export const healthEndpoints: readonly Endpoint[] = [isLive, isReady];
