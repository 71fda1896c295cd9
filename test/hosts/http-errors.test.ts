import * as express from '@ambit/express';
import * as fastify from '@ambit/fastify';
import * as fetch from '@ambit/fetch';
import * as fetchHost from '@ambit/fetch/host';
import * as hono from '@ambit/hono';
import * as http from '@ambit/http';
import * as httpHost from '@ambit/http/host';
import { HttpError } from '@ambit/http/host';
import { expect, it } from 'vitest';

it.each(Object.entries({ express, fastify, fetch, fetchHost, hono, http, httpHost }))(
  'HttpError of %s is the one that every host throws',
  (_name, entryPoint) => expect(entryPoint.HttpError).toBe(HttpError),
);
