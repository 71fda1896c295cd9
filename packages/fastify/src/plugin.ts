import type { FastifyInstance, FastifyPluginAsync, FastifyPluginOptions } from 'fastify';

interface PluginMeta<Options extends FastifyPluginOptions> {
  readonly name: string;
  readonly dependencies?: readonly string[];
  readonly plugin: (server: FastifyInstance, options: Options) => void;
}

/**
 * What the package `fastify-plugin` does: the plugin's hooks and decorators belong to the context that registers it,
 * and Fastify checks its version and that what it depends on is there.
 */
export function definePlugin<Options extends FastifyPluginOptions>(
  meta: PluginMeta<Options>,
): FastifyPluginAsync<Options> {
  const { name, dependencies = [], plugin } = meta;
  // Asynchronous, because what a plugin with a callback throws ends the process.
  const register = async (server: FastifyInstance, options: Options): Promise<void> => plugin(server, options);
  return Object.assign(register, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: name,
    [Symbol.for('plugin-meta')]: { name, fastify: '5.x', dependencies },
  });
}
