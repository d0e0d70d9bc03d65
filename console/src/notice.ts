/** A message for the person; not a defect of the page. */
export class Notice extends Error {
  override readonly name = 'Notice'
  /**
   * @param title the event, in a few words
   * @param message details
   * @param todo the next step for the person
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
