import { ContainerError } from '@ambit/container';
import { describe, expect, it, vi } from 'vitest';
import { Inspector, type InspectorOptions } from '../src/index.js';
import { createApp } from './support/app.js';

const container = createApp();

describe('the options', () => {
  it.each<[string, Partial<Record<keyof InspectorOptions, unknown>>]>([
    ['inspector({ container }) needs the application container', { container: {} }],
    ["path must be like '/inspector'", { path: 'inspector/' }],
    ["path must be like '/inspector'", { path: '/' }],
    ['token must have at least 16 characters', { token: 'short' }],
    ['limitMs must be a number above 0', { limitMs: 0 }],
    ['keepTrouble must be a number above 0', { keepTrouble: Number.NaN }],
    ["links must lead to a path such as '/docs'", { links: { Docs: 'javascript:alert(1)' } }],
    ['keep must be a number above 0', { keep: -1 }],
    ['slowMs must be a number above 0', { slowMs: 0 }],
  ])('are refused with the reason: %s', (reason, options) => {
    const make = (): unknown => new Inspector({ container, ...options } as InspectorOptions);
    expect(make).toThrow(ContainerError);
    expect(make).toThrow(reason);
    expect(make).toThrow(/ \[AMBIT_OPTION, see docs\/errors\.md#ambit_option\]$/);
  });

  it.each([undefined, 'production', 'staging'])('refuse `enabled` without a token where NODE_ENV is %s', (mode) => {
    vi.stubEnv('NODE_ENV', mode);
    try {
      expect(() => new Inspector({ container, enabled: true })).toThrow('enabled: true needs a token');
      expect(new Inspector({ container, enabled: true, token: 'a token that is long enough' }).enabled).toBe(true);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
