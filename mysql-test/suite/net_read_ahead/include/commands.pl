# A client that sends several commands without waiting for the answers, cut
# into pieces at any byte.
#
#   perl commands.pl SOCKET USER PIECE STATEMENT...
#
# The user has no password. All statements are sent as one string of bytes, in
# pieces of PIECE bytes (0: at once) with pauses of 10 ms between them; COM_QUIT
# follows. Prints for each statement its rows, its number of changed rows, or
# its error. A statement TEXT*N stands for TEXT followed by N blanks. With PIECE
# "end", all is sent at once, and the client's side of the connection is closed.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/connection.pl";

my ($path, $user, $piece, @statements) = @ARGV;
$| = 1;

# One byte each: what the test prints is short.
sub fields { return unpack('(C/a)*', $_[0]); }

sub print_answer {
  my $answer = read_packet();
  my $kind = ord($answer);
  if ($kind == 0) {
    printf("%d changed\n", ord(substr($answer, 1, 1)));
  } elsif ($kind == 0xff) {
    my ($number, $state, $text) = unpack('x v x a5 a*', $answer);
    print("ERROR $number ($state): $text\n");
  } else {
    # The descriptions of the columns, then the rows; 0xfe follows each.
    1 while ord(read_packet()) != 0xfe;
    while (ord($answer = read_packet()) != 0xfe) {
      print(join(' ', fields($answer)), "\n");
    }
  }
}

my $socket = login($path, $user);
my $bytes = '';
for my $statement (@statements) {
  my ($text, $blanks) = split(/\*(?=\d+$)/, $statement);
  $bytes .= packet(0, pack('C a*', 3, $text . ' ' x ($blanks // 0)));
}
$bytes .= packet(0, pack('C', 1));

my $end = $piece eq 'end';
$piece = 0 if $end;
for (my $sent = 0; $sent < length($bytes); $sent += $piece) {
  $piece ||= length($bytes);
  select(undef, undef, undef, 0.01) if $sent;
  send_all(substr($bytes, $sent, $piece));
}
shutdown($socket, 1) if $end;
print_answer() for @statements;
sysread($socket, my $more, 1) and die('the server sent more than was asked for');
