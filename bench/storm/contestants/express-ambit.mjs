import express from 'express';
import { startExpress } from '../express.mjs';

export const contestant = {
  title: 'ambit, Express 5',
  package: '@ambit/express',
  start: (pool) => startExpress(express, pool),
};
