/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FOREBAY_RUN_H
#define FOREBAY_RUN_H

/* Main loop of the run. It does not return: the guest ends with it. In process context. */
void __noreturn fb_run(void);

#endif
