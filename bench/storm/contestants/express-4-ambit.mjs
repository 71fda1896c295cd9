import express from 'express-4';
import { startExpress } from '../express.mjs';

export const contestant = {
  title: 'ambit, Express 4',
  package: '@ambit/express',
  start: (pool) => startExpress(express, pool),
};
