import { keyOf } from '../events/signature.js';
import type { EventsConfig } from './config.js';

/** Where events are posted, and the key that signs them. The messages never repeat a value, because both may be secret. */
export function readEvents(
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): EventsConfig | undefined {
  const address = env['EVENTS_URL']?.trim() ?? '';
  const secret = env['EVENTS_SECRET']?.trim() ?? '';
  const key = keyOf(secret);
  if (secret !== '' && key === undefined) {
    problems.push(
      'EVENTS_SECRET must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
    );
  }
  if (address === '') return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isUsable) problems.push('EVENTS_URL must be an http or https URL without a user and a password');
  if (secret === '')
    problems.push('EVENTS_SECRET must be set with EVENTS_URL: a receiver cannot know otherwise who sends an event');
  return isUsable && key !== undefined ? { url, key } : undefined;
}
