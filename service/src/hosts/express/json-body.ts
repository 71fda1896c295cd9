import type { RequestHandler } from 'express';
import { mayHaveBody, readJsonBody } from '../../http/json-body.js';

/** Bodies are parsed before routing. */
export const jsonBody: RequestHandler = async (req, _res, next) => {
  if (mayHaveBody(req)) req.body = await readJsonBody(req);
  next();
};
