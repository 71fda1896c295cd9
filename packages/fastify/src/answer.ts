import type { FastifyReply } from 'fastify';

/** What is true of one answer only: the same list as in @ambit/express. */
const OF_THE_ANSWER = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'trailer',
  'transfer-encoding',
];

/** Makes room for an error; what belongs to the connection or to every answer of the application stays. */
export function clearHead(reply: FastifyReply): void {
  for (const name of OF_THE_ANSWER) reply.removeHeader(name);
}
