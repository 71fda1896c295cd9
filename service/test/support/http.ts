export interface Request {
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON, unless it is text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** One request over real HTTP; the answer must be JSON, as all answers are. */
export async function request<T>(
  url: string,
  { method = 'GET', path, body, headers = {} }: Request,
): Promise<Answer<T>> {
  const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...content,
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as T };
}
