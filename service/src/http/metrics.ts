/** Where Prometheus looks, and what it expects to read there. */
export const METRICS_PATH = '/metrics';
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
