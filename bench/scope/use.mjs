/** Keeps the last resolved object, so that the work is not optimised away. */
const sink = { value: undefined };
export const use = (value) => {
  sink.value = value;
};
