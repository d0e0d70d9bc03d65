/** The median; of an even number of values, the upper of the two in the middle. */
export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
