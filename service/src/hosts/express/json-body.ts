import type { RequestHandler } from 'express';
import { readJsonBody } from '../../http/json-body.js';

/** Bodies are parsed before routing. */
export const jsonBody: RequestHandler = async (req, _res, next) => {
  req.body = await readJsonBody(req);
  next();
};
