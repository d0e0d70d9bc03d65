/** Something that a person is to know, and no fault of the page. */
export class Notice extends Error {
  override readonly name = 'Notice'
  /**
   * @param title what has happened, in a few words
   * @param message what else there is to say
   * @param todo what to do about it
   */
  constructor(
    readonly title: string,
    message: string,
    readonly todo: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
