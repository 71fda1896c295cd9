import { Node } from 'ts-morph';
import { convertGlobal } from '../core/ambit/global.js';
import type { Library } from '../core/library.js';
import { ADVICE, COMPANIONS } from './advice.js';
import { convertCall } from './calls.js';
import { convertCradle } from './cradle.js';
import { modeOf } from './mode.js';

const MODULES = ['awilix', '@fastify/awilix', 'fastify-awilix'];

/** Converts programs of awilix. */
export const awilix: Library = {
  name: 'awilix',
  modules: MODULES,
  companions: COMPANIONS,
  advice: ADVICE,
  containers: {
    values: ['diContainer', 'diContainerClassic'],
    creators: ['createContainer'],
    types: ['AwilixContainer'],
    methods: ['createScope', 'register', 'loadModules'],
  },
  convert(rewriter, program) {
    const mode = modeOf(program, MODULES);
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node, mode);
      else if (Node.isTypeReference(node) && rewriter.names(node.getTypeName(), 'AwilixContainer')) {
        rewriter.replace(node, rewriter.useType('Container'));
        rewriter.done('type of the container', node.getTypeName());
      } else if (Node.isPropertyAccessExpression(node)) convertCradle(rewriter, node);
      else if (Node.isIdentifier(node)) convertGlobal(rewriter, node, program, 'diContainer', 'diContainerClassic');
    }
  },
};
