import { createHmac, randomBytes, scrypt as scryptWithCallback, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { RequestHandler } from 'express';
import { resolve } from '@ambit/express';
import { ApiError } from './errors.ts';

const scrypt = promisify<string, string, number, Buffer>(scryptWithCallback);
const DAY_S = 86_400;
const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');

/** Who sends the request. A service that lists it cannot mix up two users: each request has its own. */
export class Viewer {
  /** `undefined` when the request has no valid token. */
  readonly id: number | undefined;

  constructor(id: number | undefined) {
    this.id = id;
  }

  get userId(): number {
    if (this.id === undefined) throw new ApiError(401, { token: ['is missing or invalid'] });
    return this.id;
  }
}

/** JSON Web Tokens, signed with one secret. */
export class Tokens {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  issue(userId: number): string {
    const payload = { sub: userId, exp: Math.floor(Date.now() / 1000) + DAY_S };
    const signed = `${HEADER}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
    return `${signed}.${this.#sign(signed).toString('base64url')}`;
  }

  /** Reads the header `Authorization: Token ...`. No part may contain a dot: a header of dots would take minutes to match. */
  viewerOf(authorization: string): Viewer {
    const [, header = '', payload = '', signature = ''] =
      /^(?:Token|Bearer) ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? [];
    const expected = this.#sign(`${header}.${payload}`);
    const given = Buffer.from(signature, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return new Viewer(undefined);
    const { sub, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return new Viewer(exp * 1000 > Date.now() ? sub : undefined);
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#secret).update(text).digest();
  }
}

/** Refuses a request without a valid token before a transaction begins. */
export const signedIn: RequestHandler = (req, _res, next) => {
  void resolve(req, 'IViewer').userId;
  next();
};

export async function hashOf(password: string, salt = randomBytes(16).toString('base64url')): Promise<string> {
  return `${salt}.${(await scrypt(password, salt, 32)).toString('base64url')}`;
}

/** Takes as long without a hash: nobody learns from the time which addresses have an account. */
export async function isPassword(password: string, hash = ''): Promise<boolean> {
  const [salt = ''] = hash.split('.');
  const [given, stored] = [Buffer.from(await hashOf(password, salt)), Buffer.from(hash)];
  return given.length === stored.length && timingSafeEqual(given, stored);
}
