/** The library that MariaDB loads for a Galera cluster, where it is installed. */
export function findGalera(): string | undefined
