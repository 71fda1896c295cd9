import { splitHosts } from '@ambit/transaction/postgres';

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const READERS = ['any', 'read-only', 'standby', 'prefer-standby'];

/** The values that the driver, or libpq, accepts for parameters with a fixed set of values. */
const VALUES = {
  DATABASE_URL: {
    target_session_attrs: ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'],
    sslmode: SSL_MODES,
  },
  DATABASE_READ_URL: { target_session_attrs: READERS, sslmode: SSL_MODES },
};

/** What is invalid in the URL of a database. The messages never repeat the value, because it contains a password. */
export function problemsOfDatabaseUrl(variable: keyof typeof VALUES, text: string): string[] {
  const [first] = urlsOf(text);
  if (first === undefined) {
    return [
      `${variable} must be a URL like postgres://user:password@host:5432/name,` +
        ' with several hosts like postgres://user:password@host1:5432,host2:5432/name',
    ];
  }
  return Object.entries(VALUES[variable])
    .filter(([name, values]) => !first.searchParams.getAll(name).every((value) => values.includes(value)))
    .map(([name, values]) => `${name} in ${variable} must be one of ${values.join(', ')}`);
}

/** One URL for each host, or none if the text is invalid. */
function urlsOf(text: string): URL[] {
  if (!/^postgres(?:ql)?:\/\/./i.test(text)) return [];
  try {
    // The driver accepts a percent sign that begins no escape, so this does, too.
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, '%25'));
    return splitHosts(text).map((url) => new URL(url));
  } catch {
    return [];
  }
}
