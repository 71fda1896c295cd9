import type { FastifyInstance } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { bodyCheck } from '../../http/validate.js';

/** The schemas of a route, read as Express reads them: the same words for a bad body, the same bytes for an answer. */
export function readSchemas(server: FastifyInstance): void {
  server.setValidatorCompiler<TSchema>(({ schema }) => {
    const check = bodyCheck(schema);
    return (body: unknown) => {
      try {
        return { value: check(body) };
      } catch (problem) {
        return { error: problem as Error };
      }
    };
  });

  // Fastify's own would put the required fields first.
  server.setSerializerCompiler<TObject>(({ schema }) => {
    const validator = Compile(schema);
    const fields = Object.keys(schema.properties);
    return (data: unknown) => {
      if (!validator.Check(data)) throw new Error('The answer does not fit its schema');
      const answer: Record<string, unknown> = {};
      for (const field of fields) answer[field] = (data as Record<string, unknown>)[field];
      return JSON.stringify(answer);
    };
  });
}
