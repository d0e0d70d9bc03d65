/** The one in the middle; of an even number the upper of the two. */
export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
