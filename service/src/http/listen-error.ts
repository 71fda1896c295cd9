import type { Config } from '../config/config.js';

/** The service cannot listen; the message says why, and what to change. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  constructor(
    message: string,
    /** 78 (EX_CONFIG of sysexits.h) where HOST or PORT must be changed, and 1 where a retry may succeed. */
    readonly exitCode: 1 | 78,
    options: ErrorOptions,
  ) {
    super(message, options);
  }
}

type Explain = (at: Pick<Config, 'host' | 'port'>, code: string) => readonly [message: string, exitCode: 1 | 78];

const notLocal: Explain = ({ host }, code) => [
  `HOST=${host} is not an address of this machine (${code}). Let HOST be 127.0.0.1, 0.0.0.0 or another of its addresses.`,
  78,
];

const EXPLANATIONS: ReadonlyMap<unknown, Explain> = new Map([
  [
    'EADDRINUSE',
    ({ host, port }, code) => [
      `PORT=${port} is in use on ${host} (${code}). Stop the program that uses it, or change PORT.`,
      1,
    ],
  ],
  [
    'EACCES',
    ({ port }, code) => [`The service may not listen on PORT=${port} (${code}). Choose a PORT from 1024 up.`, 78],
  ],
  ['EADDRNOTAVAIL', notLocal],
  ['EAFNOSUPPORT', notLocal],
  ['EINVAL', notLocal],
  [
    'ENOTFOUND',
    ({ host }, code) => [
      `HOST=${host} has no address (${code}). Let HOST be an IP address, or a name that has one.`,
      78,
    ],
  ],
  [
    'EAI_AGAIN',
    ({ host }, code) => [
      `HOST=${host} cannot be looked up now (${code}). Check the name service, or let HOST be an IP address.`,
      1,
    ],
  ],
]);

/** Explains an error of `listen()`. Unknown errors are returned as they are. */
export function listenError(error: unknown, at: Pick<Config, 'host' | 'port'>): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  const explanation = EXPLANATIONS.get(code)?.(at, code);
  return explanation ? new ListenError(...explanation, { cause: error }) : error;
}
